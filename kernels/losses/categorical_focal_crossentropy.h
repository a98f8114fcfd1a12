#pragma once

#include "kernels/losses/element_loss.h"

namespace dptrain::kernels::losses {

/// One class's alpha (1 - q)^gamma (-y ln q), q = clip(p, 1e-7, 1 - 1e-7), of a probability p that is a share of the
/// row's sum; y is smoothed already.
struct CategoricalFocal {
  double alpha, gamma;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    if (y == 0.0) return {0.0, 0.0};
    const double q = clipped(p), entropy = -y * log(q);
    const ElementLoss factor = power(1.0 - q, gamma);
    const double slope = -factor.value * y / q - factor.slope * entropy;
    return {alpha * factor.value * entropy, inside_clip(p) ? alpha * slope : 0.0};
  }
};

}  // namespace dptrain::kernels::losses
