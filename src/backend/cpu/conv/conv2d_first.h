#pragma once

// Convolution passes of our own for images of 1 to 4 channels (kernels/cpu/first_conv.h): forward and backward weights,
// either of them with the 2x2 max-pooling fused. Made and used on the replica's thread.

#include <memory>

#include "backend/cpu/conv/conv_pass.h"

namespace dptrain::backend::cpu {

/// Null where the shape or the pass is none of theirs.
std::unique_ptr<ConvPass> make_first_conv(ConvPassKind kind, const ConvShape& shape);

}  // namespace dptrain::backend::cpu
