#pragma once

#include <cstdint>

namespace dptrain::nn {

/// y = x / (bias + alpha * sum over channels [c - r, c + r] of x^2)^beta, nothing divided by the window
/// (TensorFlow's local_response_normalization; Keras has no such layer).
struct LocalResponseNormalizationSpec {
  std::int64_t depth_radius = 5;
  float bias = 1;
  float alpha = 1;
  float beta = 0.5F;
};

}  // namespace dptrain::nn
