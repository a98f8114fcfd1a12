#pragma once

#include "kernels/losses/binary_crossentropy.h"

namespace dptrain::kernels::losses {

/// w (1 - p_t)^gamma times the crossentropy. 1 - p_t = y' (1 - p) + (1 - y') p; w = y' alpha + (1 - y') (1 - alpha)
/// where classes are balanced, else 1.
struct Focus {
  double gamma;
  bool balances;
  double alpha;
  BinarySmoothing smoothed;

  /// `one_minus_p` apart, for it keeps its digits where p is nearly 1. `slope`: of the crossentropy, and `dp` of p, by
  /// the prediction.
  DPTRAIN_HOST_DEVICE ElementLoss of(ElementLoss entropy, double y, double p, double one_minus_p, double dp) const {
    const ElementLoss factor = power(y * one_minus_p + (1.0 - y) * p, gamma);
    const double weight = balances ? y * alpha + (1.0 - y) * (1.0 - alpha) : 1.0;
    return {weight * factor.value * entropy.value,
            weight * (factor.value * entropy.slope + entropy.value * factor.slope * (1.0 - 2.0 * y) * dp)};
  }
};

/// Of probabilities; the crossentropy clips them, the factor does not.
struct BinaryFocal {
  Focus focus;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double target) const {
    return focus.of(Binary{focus.smoothed}(p, target), focus.smoothed(target), p, 1.0 - p, 1.0);
  }
};

struct BinaryFocalFromLogits {
  Focus focus;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double z, double target) const {
    const double e = exp(-fabs(z)), small = e / (1.0 + e), large = 1.0 / (1.0 + e);
    const double p = z >= 0.0 ? large : small, rest = z >= 0.0 ? small : large;
    return focus.of(BinaryFromLogits{focus.smoothed}(z, target), focus.smoothed(target), p, rest, p * rest);
  }
};

}  // namespace dptrain::kernels::losses
