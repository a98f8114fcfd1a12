#pragma once

#include "kernels/losses/element_loss.h"

namespace dptrain::kernels::losses {

/// y ln(y / p), both clipped to 1e-7..1; summed over the row.
struct KullbackLeibler {
  static constexpr bool kSumsElements = true;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double target) const {
    const double y = clipped(target, kLowest, 1.0), q = clipped(p, kLowest, 1.0);
    return {y * log(y / q), inside_clip(p, kLowest, 1.0) ? -y / q : 0.0};
  }
};

}  // namespace dptrain::kernels::losses
