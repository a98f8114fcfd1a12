#pragma once

#include "nn/activation.h"
#include "nn/geometry.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"

namespace dptrain::nn {

/// A depthwise convolution with depthwise_kernel [kh, kw, C, m], to which strides, padding and dilation belong, then a
/// 1x1 convolution with pointwise_kernel [1, 1, C * m, filters], plus bias, then activation; nothing in between (Keras
/// SeparableConv2D).
struct SeparableConv2DSpec {
  std::int64_t filters = 0;
  Size2 kernel_size{1, 1};
  Size2 strides{1, 1};
  Padding padding = Padding::kValid;
  Size2 dilation_rate{1, 1};
  std::int64_t depth_multiplier = 1;
  Activation activation = Activation::kLinear;
  bool use_bias = true;
  Initializer depthwise_initializer{GlorotUniform{}};
  Initializer pointwise_initializer{GlorotUniform{}};
  Initializer bias_initializer{Zeros{}};
  Regularizer depthwise_regularizer;
  Regularizer pointwise_regularizer;
  Regularizer bias_regularizer;
};

}  // namespace dptrain::nn
