#pragma once

#include "kernels/losses/hinge.h"

namespace dptrain::kernels::losses {

/// max(0, 1 - y p)^2.
struct SquaredHinge {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double target) const {
    const Margin m(p, target);
    return m.kept() ? ElementLoss{m.margin * m.margin, -2.0 * m.y * m.margin} : ElementLoss{0.0, 0.0};
  }
};

}  // namespace dptrain::kernels::losses
