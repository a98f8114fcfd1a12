#pragma once

#include "kernels/losses/element_loss.h"

namespace dptrain::kernels::losses {

/// How far a prediction is from the right side: 1 - y p, where a label of 0 counts as -1. The slope by the prediction
/// is -y, and zero where the margin is negative.
struct Margin {
  double y, margin;
  DPTRAIN_HOST_DEVICE Margin(double p, double target) : y(target == 0.0 ? -1.0 : target), margin(1.0 - y * p) {}
  DPTRAIN_HOST_DEVICE bool kept() const { return !(margin < 0.0); }
};

/// max(0, 1 - y p).
struct Hinge {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double target) const {
    const Margin m(p, target);
    return m.kept() ? ElementLoss{m.margin, -m.y} : ElementLoss{0.0, 0.0};
  }
};

}  // namespace dptrain::kernels::losses
