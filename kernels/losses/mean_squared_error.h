#pragma once

#include "kernels/losses/element_loss.h"

namespace dptrain::kernels::losses {

/// (p - y)^2.
struct Squared {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const { return {(p - y) * (p - y), 2.0 * (p - y)}; }
};

}  // namespace dptrain::kernels::losses
