#pragma once

#include "nn/activation.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"

namespace dptrain::nn {

/// y = activation(x W + b) on the last axis; W is [in, units] (Keras Dense).
struct DenseSpec {
  std::int64_t units = 0;
  Activation activation = Activation::kLinear;
  bool use_bias = true;
  Initializer kernel_initializer{GlorotUniform{}};
  Initializer bias_initializer{Zeros{}};
  Regularizer kernel_regularizer;
  Regularizer bias_regularizer;
};

}  // namespace dptrain::nn
