#pragma once

#include "kernels/losses/element_loss.h"

namespace dptrain::kernels::losses {

/// |p - y|; the slope at p == y is zero.
struct Absolute {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    return {fabs(p - y), p > y ? 1.0 : p < y ? -1.0 : 0.0};
  }
};

}  // namespace dptrain::kernels::losses
