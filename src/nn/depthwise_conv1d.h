#pragma once

#include "nn/activation.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"
#include "nn/steps.h"

namespace dptrain::nn {

/// Every channel of [steps, C] correlated with `depth_multiplier` filters of its own, depthwise_kernel [k, C, m]:
/// channel c * m + j of the output is channel c with filter j. Plus bias, then activation (Keras DepthwiseConv1D).
struct DepthwiseConv1DSpec {
  Extent kernel_size{1};
  Extent strides{1};
  Padding padding = Padding::kValid;
  std::int64_t depth_multiplier = 1;
  Extent dilation_rate{1};
  Activation activation = Activation::kLinear;
  bool use_bias = true;
  Initializer depthwise_initializer{GlorotUniform{}};
  Initializer bias_initializer{Zeros{}};
  Regularizer depthwise_regularizer;
  Regularizer bias_regularizer;
};

}  // namespace dptrain::nn
