#pragma once

// 16-bit floating-point numbers as floats: IEEE binary16 and bfloat16. Pure.

#include <bit>
#include <cmath>
#include <cstdint>

namespace dptrain {

inline float float_of_half(std::uint16_t bits) {
  const double mantissa = static_cast<double>(bits & 0x3FFU);
  const int exponent = static_cast<int>((bits >> 10U) & 0x1FU);
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 31) return static_cast<float>(mantissa == 0 ? sign * HUGE_VAL : std::nan(""));
  return static_cast<float>(sign *
                            (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25)));
}

/// The upper half of a float.
inline float float_of_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

}  // namespace dptrain
