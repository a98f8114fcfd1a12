#pragma once

#include "kernels/losses/element_loss.h"

namespace dptrain::kernels::losses {

/// p - y ln(p + 1e-7).
struct Poisson {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    return {p - y * log(p + kLowest), 1.0 - y / (p + kLowest)};
  }
};

}  // namespace dptrain::kernels::losses
