#pragma once

// The gradient of the weights of a 1x1 convolution as one product of matrices over all pixels of the output, of factors
// rounded to bfloat16; rounding gathers the pixels that strides meet. Made and used on the replica's thread.

#include <memory>

#include "backend/cpu/conv/conv_pass.h"

namespace dptrain::backend::cpu {

struct Dnnl;

/// Shapes that it can be computed for: a sample's, whatever the rows.
bool fits_rounded_products(const ConvShape& shape);

/// Null for other passes and shapes, and where oneDNN has no implementation.
std::unique_ptr<ConvPass> make_products_conv(ConvPassKind kind, const ConvShape& shape, Dnnl& dnnl);

}  // namespace dptrain::backend::cpu
