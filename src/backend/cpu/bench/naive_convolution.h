#pragma once

// The passes of a convolution as seven loops, one product after the other: what the kernel benchmarks compare with.
// Runs on the calling thread alone.

#include <memory>

#include "backend/cpu/conv/conv_pass.h"

namespace dptrain::backend::cpu {

/// Any shape without pooling.
std::unique_ptr<ConvPass> make_naive_conv(ConvPassKind kind, const ConvShape& shape);

/// One row of the shape without pooling, cut to as many lines of output as have about so many operations.
ConvShape few_lines(ConvShape shape, double flops);

}  // namespace dptrain::backend::cpu
