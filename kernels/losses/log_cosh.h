#pragma once

#include "kernels/losses/element_loss.h"

namespace dptrain::kernels::losses {

/// ln cosh x of x = p - y, as |x| + ln(1 + e^(-2 |x|)) - ln 2, which large x do not overflow.
struct LogCosh {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    constexpr double kLn2 = 0.693147180559945309417;
    const double x = p - y, a = fabs(x);
    return {a + log1p(exp(-2.0 * a)) - kLn2, tanh(x)};
  }
};

}  // namespace dptrain::kernels::losses
