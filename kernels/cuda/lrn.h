#pragma once

// TensorFlow's local_response_normalization across channels, in float; pixels = rows * height * width. Outputs must not
// overlap inputs.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// scale[c] = bias + alpha * sum of x^2 over [c - radius, c + radius] (not divided by the window); y = x / scale^beta.
struct Lrn {
  std::int64_t radius;
  float bias;
  float alpha;
  float beta;  ///< 0.5, 0.75 and 1 are fastest
};

void lrn_forward(const Launch& at, DType type, const Lrn& lrn, const void* x, std::int64_t pixels,
                 std::int64_t channels, void* y);

/// dx from the forward's x; recomputes the scale. Needs no workspace.
void lrn_backward(const Launch& at, DType type, const Lrn& lrn, const void* x, const void* dy, std::int64_t pixels,
                  std::int64_t channels, void* dx);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
