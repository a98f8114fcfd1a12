#pragma once

// What several ops say alike in their OpTraits. Any thread.

#include "device/device.h"

namespace dptrain::device {

/// An activation straight behind the op's own layer, which backward undoes from the output (the Epilogue of cpu/ and
/// gpu/activation.h).
FusionClaim takes_activation();

/// A ReLU below an op whose own output is positive where, and only where, it hands a gradient through that ReLU.
UndoClaim undoes_relu();

}  // namespace dptrain::device
