#pragma once

// Differences of results that are compared with a tolerance.

#include <cmath>
#include <limits>

namespace dptrain {

/// NaN becomes infinite, because std::max() and `>` ignore NaN. Use it before the largest of several differences is
/// taken: `worst = std::max(worst, nan_as_infinite(std::abs(a - b)))`.
inline double nan_as_infinite(double difference) {
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

/// `difference` / `size`, both >= 0: 0 without a difference, infinite if the quotient is NaN.
inline double relative_difference(double difference, double size) {
  return difference == 0 ? 0 : nan_as_infinite(difference / size);
}

}  // namespace dptrain
