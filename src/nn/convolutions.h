#pragma once

// Dense, and convolutions over steps [steps, C], images [H, W, C] and volumes [D, H, W, C]: Rank is 1, 2 or 3. Each
// ends with a bias and an activation.

#include <array>
#include <optional>
#include <type_traits>
#include <utility>

#include "nn/activations.h"
#include "nn/geometry.h"
#include "nn/initializer.h"

namespace dptrain::nn {

/// Arguments of the bias and the activation of a layer with kernels.
struct BiasArguments {
  Activation activation = Activation::kLinear;
  bool use_bias = true;
  Initializer bias_initializer{Zeros{}};
  Regularizer bias_regularizer;
};
/// Arguments of a layer with one kernel.
struct KernelArguments : BiasArguments {
  Initializer kernel_initializer{GlorotUniform{}};
  Regularizer kernel_regularizer;
};
/// Arguments of the window of a convolution.
template <int Rank>
struct WindowArguments {
  Size<Rank> kernel_size{}, strides{}, dilation_rate{};
};

/// y = activation(x W + b) on the last axis; W is [in, units] (Keras Dense).
struct DenseSpec : KernelArguments {
  std::int64_t units = 0;
};

/// Causal: output t depends on inputs up to t * strides, with zeros before the first.
enum class StepsPadding { kValid, kSame, kCausal };

/// Cross-correlation with kernel [size..., C / groups, filters] (Keras Conv1D, Conv2D, Conv3D).
template <int Rank>
struct ConvSpec : WindowArguments<Rank>, KernelArguments {
  std::int64_t filters = 0;
  std::conditional_t<Rank == 1, StepsPadding, Padding> padding{};
  std::int64_t groups = 1;
};
using Conv1DSpec = ConvSpec<1>;
using Conv2DSpec = ConvSpec<2>;
using Conv3DSpec = ConvSpec<3>;

/// Transposed convolution, the gradient of a convolution. The output is [size'..., filters]; a convolution with the
/// same window maps its extents back to those of the input. The kernel is [size..., filters, C] (Keras Conv1DTranspose,
/// Conv2DTranspose, Conv3DTranspose).
template <int Rank>
struct ConvTransposeSpec : WindowArguments<Rank>, KernelArguments {
  std::int64_t filters = 0;
  Padding padding = Padding::kValid;
  /// Added to the smallest output size. Absent: the size is in * stride, plus max(window - stride, 0) with "valid".
  std::optional<Size<Rank>> output_padding;
};
using Conv1DTransposeSpec = ConvTransposeSpec<1>;
using Conv2DTransposeSpec = ConvTransposeSpec<2>;
using Conv3DTransposeSpec = ConvTransposeSpec<3>;

/// The output's height and width. Throws LayerError if no convolution maps them back to those of `in`.
Size2 transposed_extents(const Conv2DTransposeSpec& spec, const Shape& in);

/// Correlates each channel with `depth_multiplier` filters of its own. The kernel depthwise_kernel is [size..., C, m];
/// channel c * m + j of the output is channel c with filter j (Keras DepthwiseConv1D, DepthwiseConv2D).
template <int Rank>
struct DepthwiseConvSpec : WindowArguments<Rank>, BiasArguments {
  Padding padding = Padding::kValid;
  std::int64_t depth_multiplier = 1;
  Initializer depthwise_initializer{GlorotUniform{}};
  Regularizer depthwise_regularizer;
};
using DepthwiseConv1DSpec = DepthwiseConvSpec<1>;
using DepthwiseConv2DSpec = DepthwiseConvSpec<2>;

/// A depthwise convolution with depthwise_kernel [size..., C, m], which has the strides, padding and dilation. A
/// pointwise convolution with pointwise_kernel [1..., C * m, filters] follows directly (Keras SeparableConv1D,
/// SeparableConv2D).
template <int Rank>
struct SeparableConvSpec : WindowArguments<Rank>, BiasArguments {
  std::int64_t filters = 0;
  Padding padding = Padding::kValid;
  std::int64_t depth_multiplier = 1;
  Initializer depthwise_initializer{GlorotUniform{}}, pointwise_initializer{GlorotUniform{}};
  Regularizer depthwise_regularizer, pointwise_regularizer;
};
using SeparableConv1DSpec = SeparableConvSpec<1>;
using SeparableConv2DSpec = SeparableConvSpec<2>;

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::StepsPadding> {
  using P = dptrain::nn::StepsPadding;
  static constexpr std::array names{std::pair{P::kValid, "valid"}, std::pair{P::kSame, "same"},
                                    std::pair{P::kCausal, "causal"}};
};
