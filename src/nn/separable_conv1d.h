#pragma once

#include "nn/activation.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"
#include "nn/steps.h"

namespace dptrain::nn {

/// A depthwise convolution with depthwise_kernel [k, C, m], to which strides, padding and dilation belong, then one of
/// single steps with pointwise_kernel [1, C * m, filters], plus bias, then activation; nothing in between (Keras
/// SeparableConv1D).
struct SeparableConv1DSpec {
  std::int64_t filters = 0;
  Extent kernel_size{1};
  Extent strides{1};
  Padding padding = Padding::kValid;
  Extent dilation_rate{1};
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
