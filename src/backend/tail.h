#pragma once

// Claims that several ops have in their OpTraits. Any thread.

#include "backend/device.h"

namespace dptrain::backend {

/// An activation directly after the op's own layer, which backward undoes from the output (Epilogue in
/// ops/activations.h).
FusionClaim takes_activation();

/// An Add of two equal shapes directly after the op's own layer; the op reads only the other summand. Backward leaves
/// dy as the sum's gradient.
FusionClaim takes_sum();

/// A ReLU directly after the op's own layer or that sum. also_relu6: or a relu6.
FusionClaim takes_relu_behind_sum(bool also_relu6 = false);

/// A ReLU before an op whose output is positive exactly where the op passes a gradient through that ReLU.
UndoClaim undoes_relu();

}  // namespace dptrain::backend
