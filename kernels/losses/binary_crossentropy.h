#pragma once

#include "kernels/losses/element_loss.h"

namespace dptrain::kernels::losses {

/// -(y' ln q + (1 - y') ln(1 - q)), q = clip(p, 1e-7, 1 - 1e-7); the slope is zero where the clip is active.
struct Binary {
  BinarySmoothing smoothed;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double target) const {
    const double y = smoothed(target), q = clipped(p);
    const double value = -(y * log(q) + (1.0 - y) * log1p(-q));
    return {value, inside_clip(p) ? (q - y) / (q * (1.0 - q)) : 0.0};
  }
};

/// max(z, 0) - z y' + ln(1 + e^-|z|).
struct BinaryFromLogits {
  BinarySmoothing smoothed;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double z, double target) const {
    const double y = smoothed(target), e = exp(-fabs(z));
    const double sigmoid = z >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
    return {(z > 0.0 ? z : 0.0) - z * y + log1p(e), sigmoid - y};
  }
};

}  // namespace dptrain::kernels::losses
