#pragma once

#include "kernels/losses/element_loss.h"

namespace dptrain::kernels::losses {

/// 100 |p - y| / max(|y|, 1e-7).
struct AbsolutePercentage {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    const double share = 100.0 / (fabs(y) > kLowest ? fabs(y) : kLowest);
    return {share * fabs(p - y), p > y ? share : p < y ? -share : 0.0};
  }
};

}  // namespace dptrain::kernels::losses
