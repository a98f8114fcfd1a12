#pragma once

// What several ops say alike in their OpTraits. Any thread.

#include "backend/device.h"

namespace dptrain::backend {

/// An activation straight behind the op's own layer, which backward undoes from the output (the Epilogue of cpu/ and
/// gpu/activation.h).
FusionClaim takes_activation();

/// An Add of two equal shapes straight behind the op's own layer; one summand is all the op reads. Backward leaves dy
/// as the sum's gradient.
FusionClaim takes_sum();

/// A ReLU straight behind the op's own layer or that sum; or a relu6.
FusionClaim takes_relu_behind_sum(bool also_relu6 = false);

/// A ReLU below an op whose own output is positive where, and only where, it hands a gradient through that ReLU.
UndoClaim undoes_relu();

}  // namespace dptrain::backend
