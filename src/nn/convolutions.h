#pragma once

// Convolutions over steps, images and volumes.

#include <array>
#include <optional>
#include <utility>

#include "nn/activation.h"
#include "nn/geometry.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"

namespace dptrain::nn {

/// Causal: output t sees inputs up to t * strides alone, with zeros before the first.
enum class StepsPadding { kValid, kSame, kCausal };

/// Cross-correlation of [steps, C] with kernel [k, C / groups, filters], plus bias, then activation (Keras Conv1D).
struct Conv1DSpec {
  std::int64_t filters = 0;
  Extent kernel_size{1};
  Extent strides{1};
  StepsPadding padding = StepsPadding::kValid;
  Extent dilation_rate{1};
  std::int64_t groups = 1;
  Activation activation = Activation::kLinear;
  bool use_bias = true;
  Initializer kernel_initializer{GlorotUniform{}};
  Initializer bias_initializer{Zeros{}};
  Regularizer kernel_regularizer;
  Regularizer bias_regularizer;
};

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::StepsPadding> {
  static constexpr std::array names{std::pair{dptrain::nn::StepsPadding::kValid, "valid"},
                                    std::pair{dptrain::nn::StepsPadding::kSame, "same"},
                                    std::pair{dptrain::nn::StepsPadding::kCausal, "causal"}};
};

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
