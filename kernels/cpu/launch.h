#pragma once

// Kernels with a counterpart in kernels/cuda take the same first arguments, (Launch, DType), so that one op source
// calls both. The only type of activations here is DType::kF32.

#include "core/dtype.h"

namespace dptrain::kernels::cpu {

struct Launch {};

}  // namespace dptrain::kernels::cpu
