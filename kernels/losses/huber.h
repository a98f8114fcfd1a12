#pragma once

#include "kernels/losses/element_loss.h"

namespace dptrain::kernels::losses {

/// e^2 / 2 where |e| = |p - y| <= delta, else delta |e| - delta^2 / 2.
struct Huber {
  double delta;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    const double e = p - y, a = fabs(e);
    if (a <= delta) return {0.5 * e * e, e};
    return {delta * a - 0.5 * delta * delta, e < 0.0 ? -delta : delta};
  }
};

}  // namespace dptrain::kernels::losses
