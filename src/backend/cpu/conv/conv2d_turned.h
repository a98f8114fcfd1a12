#pragma once

// The gradient of the input of a 1x1 convolution as the forward pass of the one that leads back: from dy, with the
// weights of the other direction. Made and used on the replica's thread.

#include <memory>

#include "backend/cpu/conv/conv_pass.h"

namespace dptrain::backend::cpu {

struct Dnnl;

/// Null for other passes and shapes, and where oneDNN has no implementation. `bfloat16`: factors are rounded.
std::unique_ptr<ConvPass> make_turned_conv(ConvPassKind kind, const ConvShape& shape, bool bfloat16, Dnnl& dnnl);

}  // namespace dptrain::backend::cpu
