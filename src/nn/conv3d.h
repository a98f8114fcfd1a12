#pragma once

#include "nn/activation.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"
#include "nn/volumes.h"

namespace dptrain::nn {

/// Cross-correlation of [D, H, W, C] with kernel [kd, kh, kw, C / groups, filters], plus bias, then activation (Keras
/// Conv3D).
struct Conv3DSpec {
  std::int64_t filters = 0;
  Size3 kernel_size;
  Size3 strides;
  Padding padding = Padding::kValid;
  Size3 dilation_rate;
  std::int64_t groups = 1;
  Activation activation = Activation::kLinear;
  bool use_bias = true;
  Initializer kernel_initializer{GlorotUniform{}};
  Initializer bias_initializer{Zeros{}};
  Regularizer kernel_regularizer;
  Regularizer bias_regularizer;
};

}  // namespace dptrain::nn
