#pragma once

// TensorFlow's local_response_normalization across channels, over [pixels, channels] (pixels = rows * height * width).
// In place is allowed (y == x, dx == dy). Conventions: parallel.h.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// scale[c] = bias + alpha * sum of x^2 over [c - radius, c + radius] (not divided by the window); y = x / scale^beta.
struct Lrn {
  int64_t radius;
  float bias;
  float alpha;
  float beta;  ///< 0.5, 0.75 and 1 are faster
};

int64_t lrn_workspace(const Lrn& lrn, int64_t pixels, int64_t channels);

/// Saves `scale` (size of x, may be null) for backward.
void lrn_forward(const Lrn& lrn, const float* x, int64_t pixels, int64_t channels, float* workspace, float* y,
                 float* scale);

/// dx from x and the saved scale; null: recomputes the scale.
void lrn_backward(const Lrn& lrn, const float* x, const float* scale, const float* dy, int64_t pixels, int64_t channels,
                  float* workspace, float* dx);

}  // namespace dptrain::kernels::cpu
