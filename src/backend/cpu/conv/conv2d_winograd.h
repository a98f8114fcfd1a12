#pragma once

// Convolution passes by Winograd, of kernels/cpu: 3x3 and 5x5 with stride 1. The workspace is the op's scratch, for the
// number of threads of the thread that makes the pass: the replica's.

#include <memory>

#include "backend/cpu/conv/conv_pass.h"

namespace dptrain::backend::cpu {

/// Null where the shape is of another kind.
std::unique_ptr<ConvPass> make_winograd_conv(ConvPassKind kind, const ConvShape& shape);

}  // namespace dptrain::backend::cpu
