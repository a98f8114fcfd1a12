#pragma once

#include <optional>

#include "nn/activation.h"
#include "nn/geometry.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"

namespace dptrain::nn {

/// The gradient of a convolution as a layer: [H, W, C] to [H', W', filters], such that a Conv2D with the same window
/// would lead from there back to [H, W, C]. Kernel [kh, kw, filters, C]. Plus bias, then activation (Keras
/// Conv2DTranspose).
struct Conv2DTransposeSpec {
  std::int64_t filters = 0;
  Size2 kernel_size{1, 1};
  Size2 strides{1, 1};
  Padding padding = Padding::kValid;
  /// Rows and columns beyond the smallest result; absent: in * stride, or with "valid" as far as the windows reach.
  std::optional<Size2> output_padding;
  Size2 dilation_rate{1, 1};
  Activation activation = Activation::kLinear;
  bool use_bias = true;
  Initializer kernel_initializer{GlorotUniform{}};
  Initializer bias_initializer{Zeros{}};
  Regularizer kernel_regularizer;
  Regularizer bias_regularizer;
};

/// One axis of such a layer.
struct TransposedAxis {
  std::int64_t in, kernel, stride, dilation;
  Padding padding;
  std::optional<std::int64_t> extra;  ///< output_padding
};
/// The output's extent (Keras's deconv_output_length). Throws LayerError where no convolution leads back from there.
std::int64_t transposed_extent(const TransposedAxis& axis);
/// The output's extents. Throws LayerError where no convolution leads back from there.
Size2 transposed_extents(const Conv2DTransposeSpec& spec, const Shape& in);

}  // namespace dptrain::nn
