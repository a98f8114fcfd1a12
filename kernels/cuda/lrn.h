#pragma once

// TensorFlow's local_response_normalization across channels, over [pixels, channels] (pixels = rows * height * width)
// in device memory, computed in float. Queued on the launch's stream. Outputs are overwritten and must not overlap
// inputs: neighbours are read by other threads.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// scale[c] = bias + alpha * sum of x^2 over [c - radius, c + radius] (not divided by the window); y = x / scale^beta.
struct Lrn {
  std::int64_t radius;
  float bias;
  float alpha;
  float beta;  ///< 0.5, 0.75 and 1 take a short way
};

void lrn_forward(const Launch& at, DType type, const Lrn& lrn, const void* x, std::int64_t pixels,
                 std::int64_t channels, void* y);

/// dx from the forward's x; the scale is computed again. Needs no workspace.
void lrn_backward(const Launch& at, DType type, const Lrn& lrn, const void* x, const void* dy, std::int64_t pixels,
                  std::int64_t channels, void* dx);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
