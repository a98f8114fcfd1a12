#pragma once

#include <optional>

#include "nn/activation.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"
#include "nn/volumes.h"

namespace dptrain::nn {

/// The gradient of a convolution as a layer: [D, H, W, C] to [D', H', W', filters], such that a Conv3D with the same
/// window would lead from there back to [D, H, W, C]. Kernel [kd, kh, kw, filters, C]. Plus bias, then activation
/// (Keras Conv3DTranspose).
struct Conv3DTransposeSpec {
  std::int64_t filters = 0;
  Size3 kernel_size;
  Size3 strides;
  Padding padding = Padding::kValid;
  /// Frames, rows and columns beyond the smallest result; absent: in * stride, or with "valid" as far as the windows
  /// reach.
  std::optional<Size3> output_padding;
  Size3 dilation_rate;
  Activation activation = Activation::kLinear;
  bool use_bias = true;
  Initializer kernel_initializer{GlorotUniform{}};
  Initializer bias_initializer{Zeros{}};
  Regularizer kernel_regularizer;
  Regularizer bias_regularizer;
};

}  // namespace dptrain::nn
