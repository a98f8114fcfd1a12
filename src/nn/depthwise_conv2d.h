#pragma once

#include "nn/activation.h"
#include "nn/geometry.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"

namespace dptrain::nn {

/// Every channel of [H, W, C] correlated with `depth_multiplier` filters of its own, depthwise_kernel [kh, kw, C, m]:
/// channel c * m + j of the output is channel c with filter j. Plus bias, then activation (Keras DepthwiseConv2D).
struct DepthwiseConv2DSpec {
  Size2 kernel_size{1, 1};
  Size2 strides{1, 1};
  Padding padding = Padding::kValid;
  std::int64_t depth_multiplier = 1;
  Size2 dilation_rate{1, 1};
  Activation activation = Activation::kLinear;
  bool use_bias = true;
  Initializer depthwise_initializer{GlorotUniform{}};
  Initializer bias_initializer{Zeros{}};
  Regularizer depthwise_regularizer;
  Regularizer bias_regularizer;
};

}  // namespace dptrain::nn
