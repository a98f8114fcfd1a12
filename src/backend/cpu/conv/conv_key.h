#pragma once

// Keys that identify convolution passes in the cache file and in checkpoints. Any thread.

#include <string>

#include "backend/conv_choices.h"
#include "backend/cpu/conv/conv_pass.h"

namespace dptrain::backend {

struct ConvChoices::Pass {
  cpu::ConvPassKind kind;
  cpu::ConvShape shape;
  int threads;
};

namespace cpu {

/// "forward", "data", "weights".
const char* name_of(ConvPassKind kind);
/// Without the rows, with the calling thread's thread_count(): "forward 28x28x1 to 26x26x32 kernel 3x3 strides 1x1
/// dilation 1x1 pads 0,0,0,0 groups 1 bias relu pool threads 2". A fused normalization and bfloat16 are also named.
std::string conv_key(ConvPassKind kind, const ConvShape& shape);
/// Multiply-adds times two of one sample.
double flops_of(const ConvShape& shape);

}  // namespace cpu
}  // namespace dptrain::backend
