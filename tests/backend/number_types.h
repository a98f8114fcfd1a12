#pragma once

// The number types of activations on the host, from their definitions (sign, exponent, fraction; round to nearest, ties
// to even), independent of the conversions under test.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "core/dtype.h"

namespace dptrain::test {

struct NumberFormat {
  int fraction_bits, bias;
};
constexpr NumberFormat format_of(DType type) {
  return type == DType::kBf16  ? NumberFormat{7, 127}
         : type == DType::kF16 ? NumberFormat{10, 15}
                               : NumberFormat{23, 127};
}

/// The bits of x rounded to a 16-bit type.
inline std::uint16_t bits_of(DType type, double x) {
  const auto [fraction, bias] = format_of(type);
  const auto infinity = ((1U << (15 - fraction)) - 1) << fraction;
  const std::uint32_t sign = std::signbit(x) ? 0x8000U : 0;
  if (std::isnan(x)) return static_cast<std::uint16_t>(infinity | 1U << (fraction - 1));
  std::uint32_t bits = 0;
  if (std::isinf(x)) {
    bits = infinity;
  } else if (x != 0) {
    const int exponent = std::max(std::ilogb(x), 1 - bias);
    // In units of the last place; a carry propagates into the exponent.
    const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(std::abs(x), fraction - exponent)));
    const std::uint32_t one = 1U << fraction;
    bits = units < one ? units : (static_cast<std::uint32_t>(exponent + bias) << fraction) + (units - one);
    bits = std::min(bits, infinity);
  }
  return static_cast<std::uint16_t>(sign | bits);
}

inline float value_of(DType type, std::uint16_t bits) {
  const auto [fraction, bias] = format_of(type);
  const int exponent = (bits & 0x7FFF) >> fraction, top = (1 << (15 - fraction)) - 1;
  const int rest = bits & ((1 << fraction) - 1);
  double value = 0;
  if (exponent == top)
    value = rest == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(rest, 1 - bias - fraction);
  else
    value = std::ldexp(rest + (1 << fraction), exponent - bias - fraction);
  return static_cast<float>((bits & 0x8000) != 0 ? -value : value);
}

/// x rounded to the type.
inline double rounded(DType type, double x) {
  return type == DType::kF32 ? static_cast<double>(static_cast<float>(x))
                             : static_cast<double>(value_of(type, bits_of(type, x)));
}
inline std::vector<double> rounded(DType type, std::vector<double> values) {
  for (double& value : values) value = rounded(type, value);
  return values;
}

/// Raw bytes.
inline std::vector<std::byte> encoded(DType type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto single = static_cast<float>(values[i]);
    const std::uint16_t half = type == DType::kF32 ? std::uint16_t{0} : bits_of(type, values[i]);
    std::memcpy(bytes.data() + i * size_of(type), type == DType::kF32 ? static_cast<const void*>(&single) : &half,
                size_of(type));
  }
  return bytes;
}
inline std::vector<float> decoded(DType type, const std::byte* bytes, std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint16_t half = 0;
    std::memcpy(type == DType::kF32 ? static_cast<void*>(&values[i]) : &half, bytes + i * size_of(type), size_of(type));
    if (type != DType::kF32) values[i] = value_of(type, half);
  }
  return values;
}

}  // namespace dptrain::test
