#pragma once

// A Dot in the words of the kernels, the same on every device.

#include "backend/op.h"
#include "kernels/geometry.h"
#include "nn/merging.h"

namespace dptrain::backend {

/// x1 and x2 to y [lines of x1, lines of x2], and the gradients of both from y's and the other.
struct DotProducts {
  kernels::StridedLines lines[2];
  kernels::StridedProduct forward, gradient[2];

  /// Elements of one sample.
  std::int64_t elements(int which) const { return lines[which].lines * lines[which].length; }
};

inline DotProducts dot_products(const nn::DotSpec& spec, const OpContext& context) {
  const nn::DotOperand x = nn::dot_operand(spec, context.input(0), 0), z = nn::dot_operand(spec, context.input(1), 1);
  const auto lines = [](const nn::DotOperand& o) {
    return kernels::StridedLines{
        .lines = o.lines, .length = o.length, .line_stride = o.line_stride, .stride = o.stride};
  };
  return {.lines = {lines(x), lines(z)},
          .forward = {.m = x.lines,
                      .n = z.lines,
                      .depth = x.length,
                      .a_i = x.line_stride,
                      .a_k = x.stride,
                      .b_j = z.line_stride,
                      .b_k = z.stride,
                      .c_i = z.lines,
                      .c_j = 1},
          .gradient = {{.m = x.lines,
                        .n = x.length,
                        .depth = z.lines,
                        .a_i = z.lines,
                        .a_k = 1,
                        .b_j = z.stride,
                        .b_k = z.line_stride,
                        .c_i = x.line_stride,
                        .c_j = x.stride},
                       {.m = z.lines,
                        .n = z.length,
                        .depth = x.lines,
                        .a_i = 1,
                        .a_k = z.lines,
                        .b_j = x.stride,
                        .b_k = x.line_stride,
                        .c_i = z.line_stride,
                        .c_j = z.stride}}};
}

}  // namespace dptrain::backend
