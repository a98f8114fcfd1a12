#pragma once

// Weight regularizers (Keras): penalty = l1 * sum|w| + l2 * sum w^2, no one half. Added to the loss once, whatever the
// number of replicas.

#include "config/family.h"

namespace dptrain::nn {

config::Family& regularizer_family();  ///< L1, L2, L1L2, aliases l1, l2, l1_l2
using Regularizer = config::Of<regularizer_family>;

/// All three types have this spec.
struct Penalty {
  double l1 = 0, l2 = 0;
};
struct L1Spec : Penalty {
  L1Spec() { l1 = 0.01; }
};
struct L2Spec : Penalty {
  L2Spec() { l2 = 0.01; }
};
struct L1L2Spec : Penalty {};

/// Zero penalty for an absent regularizer.
Penalty penalty(const Regularizer& regularizer);

}  // namespace dptrain::nn
