#pragma once

// A pass that knows nothing of pooling, with the 2x2 max-pooling behind the convolution done beside it: the
// convolution's whole output, or its whole gradient, stands in scratch. For the odd pass of a layer whose other passes
// do it themselves.

#include <memory>

#include "backend/cpu/conv/conv_pass.h"

namespace dptrain::backend::cpu {

/// `shape` has pool set; `pass` was made for the same shape without.
std::unique_ptr<ConvPass> with_pooling(ConvPassKind kind, const ConvShape& shape, std::unique_ptr<ConvPass> pass);

}  // namespace dptrain::backend::cpu
