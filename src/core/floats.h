#pragma once

// Floating-point numbers: 16-bit formats, differences under a tolerance, and the handling of subnormal numbers.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dptrain {

/// IEEE binary16 as a float.
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

/// NaN becomes infinite, because std::max() and `>` ignore NaN. Use it before the largest of several differences is
/// taken: `worst = std::max(worst, nan_as_infinite(std::abs(a - b)))`.
inline double nan_as_infinite(double difference) {
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

/// `difference` / `size`, both >= 0: 0 without a difference, infinite if the quotient is NaN.
inline double relative_difference(double difference, double size) {
  return difference == 0 ? 0 : nan_as_infinite(difference / size);
}

/// Treats floats below 1.2e-38 as 0 in the calling thread and in threads that it starts later, as in TensorFlow.
/// Gradients and Adam's moments contain such numbers, for which x86 needs hundreds of cycles.
void flush_subnormals() noexcept;

/// Restores the default: subnormal numbers are kept.
void keep_subnormals() noexcept;

}  // namespace dptrain
