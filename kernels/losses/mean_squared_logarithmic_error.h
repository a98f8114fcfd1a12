#pragma once

#include "kernels/losses/element_loss.h"

namespace dptrain::kernels::losses {

/// (ln(1 + max(p, 1e-7)) - ln(1 + max(y, 1e-7)))^2; the slope is zero below the clip.
struct SquaredLogarithmic {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    const double at = p < kLowest ? kLowest : p;
    const double difference = log1p(at) - log1p(y < kLowest ? kLowest : y);
    return {difference * difference, p < kLowest ? 0.0 : 2.0 * difference / (1.0 + at)};
  }
};

}  // namespace dptrain::kernels::losses
