#pragma once

#include "nn/activation.h"
#include "nn/geometry.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"

namespace dptrain::nn {

/// Cross-correlation of [H, W, C] with kernel [kh, kw, C / groups, filters], plus bias, then activation (Keras Conv2D).
struct Conv2DSpec {
  std::int64_t filters = 0;
  Size2 kernel_size{1, 1};
  Size2 strides{1, 1};
  Padding padding = Padding::kValid;
  Size2 dilation_rate{1, 1};
  std::int64_t groups = 1;
  Activation activation = Activation::kLinear;
  bool use_bias = true;
  Initializer kernel_initializer{GlorotUniform{}};
  Initializer bias_initializer{Zeros{}};
  Regularizer kernel_regularizer;
  Regularizer bias_regularizer;
};

}  // namespace dptrain::nn
