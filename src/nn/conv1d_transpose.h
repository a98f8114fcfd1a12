#pragma once

#include <optional>

#include "nn/activation.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"
#include "nn/steps.h"

namespace dptrain::nn {

/// The gradient of a convolution as a layer: [steps, C] to [steps', filters], such that a Conv1D with the same window
/// would lead from there back to [steps, C]. Kernel [k, filters, C]. Plus bias, then activation (Keras
/// Conv1DTranspose).
struct Conv1DTransposeSpec {
  std::int64_t filters = 0;
  Extent kernel_size{1};
  Extent strides{1};
  Padding padding = Padding::kValid;
  /// Steps beyond the smallest result; absent: in * stride, or with "valid" as far as the windows reach.
  std::optional<Extent> output_padding;
  Extent dilation_rate{1};
  Activation activation = Activation::kLinear;
  bool use_bias = true;
  Initializer kernel_initializer{GlorotUniform{}};
  Initializer bias_initializer{Zeros{}};
  Regularizer kernel_regularizer;
  Regularizer bias_regularizer;
};

}  // namespace dptrain::nn
