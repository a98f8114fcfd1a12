#pragma once

// Convolution passes as matrix products, of kernels/cpu: gradients of large weights. The workspace is the op's scratch, for
// the number of threads of the thread that makes the pass: the replica's.

#include <memory>

#include "device/cpu/conv_pass.h"

namespace dptrain::device::cpu {

/// Null where the shape is of another kind or oneDNN is faster: chosen from the shape of one sample alone.
std::unique_ptr<ConvPass> make_gemm_conv(ConvPassKind kind, const ConvShape& shape);

}  // namespace dptrain::device::cpu
