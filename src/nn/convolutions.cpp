#include "nn/convolutions.h"

#include <string>
#include <utility>
#include <vector>

#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

/// One kernel of a layer, with Keras's names.
template <class Spec>
struct KernelOf {
  std::string word;  ///< prefix of its keys ("depthwise_initializer"); "kernel" if it is the only kernel
  Initializer Spec::*initializer;
  Regularizer Spec::*regularizer;

  std::string weight() const { return word == "kernel" ? word : word + "_kernel"; }
  std::string title() const { return word == "kernel" ? word : word + " kernel"; }
};
template <class Spec>
using Kernels = std::vector<KernelOf<Spec>>;

/// Adds the keys and backward_reads of a layer with these kernels, in Keras's order.
template <class Spec>
LayerBuilder<Spec>&& with_kernels(LayerBuilder<Spec>&& builder, const Kernels<Spec>& kernels) {
  const auto add = [&](const std::string& name, const auto& member, const std::string& text) {
    builder.key(config::key(name, member).doc(text));
  };
  builder.activation(&Spec::activation);
  add("use_bias", &BiasArguments::use_bias, "whether to add a bias");
  for (const KernelOf<Spec>& kernel : kernels)
    add(kernel.word + "_initializer", kernel.initializer, "initializer of the " + kernel.title());
  add("bias_initializer", &BiasArguments::bias_initializer, "initializer of the bias");
  for (const KernelOf<Spec>& kernel : kernels)
    add(kernel.word + "_regularizer", kernel.regularizer, "penalty on the " + kernel.title() + ", added to the loss");
  add("bias_regularizer", &BiasArguments::bias_regularizer, "penalty on the bias, added to the loss");
  return builder.backward_reads([](const Spec& spec) {
    return BackwardReads{.output = spec.activation != Activation::kLinear, .input_to_train = true};
  });
}

/// `shapes`: of the kernels; `bias`: number of elements of the bias.
template <class Spec>
std::vector<WeightDef> weights_of(const Spec& spec, const Kernels<Spec>& kernels, const std::vector<Shape>& shapes,
                                  std::int64_t bias) {
  std::vector<WeightDef> all;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    all.push_back({.name = kernels[i].weight(),
                   .shape = shapes.at(i),
                   .initializer = spec.*kernels[i].initializer,
                   .regularizer = spec.*kernels[i].regularizer});
  if (spec.use_bias)
    all.push_back(
        {.name = "bias", .shape = {bias}, .initializer = spec.bias_initializer, .regularizer = spec.bias_regularizer});
  return all;
}

/// The kernels of a layer that has one.
template <class Spec>
const Kernels<Spec>& one_kernel() {
  static const Kernels<Spec> kernels{{"kernel", &Spec::kernel_initializer, &Spec::kernel_regularizer}};
  return kernels;
}

Shape dense_output(const DenseSpec& spec, std::span<const Shape> in) {
  if (in[0].rank() == 0) throw LayerError("{0} is a scalar, expected at least one axis");
  std::vector<std::int64_t> dims = in[0].dims();
  dims.back() = spec.units;
  return Shape(std::move(dims));
}

std::vector<WeightDef> dense_weights(const DenseSpec& spec, std::span<const Shape> in) {
  return weights_of(spec, one_kernel<DenseSpec>(), {Shape{in[0].back(), spec.units}}, spec.units);
}

const Registered kDense =
    with_kernels(layer<DenseSpec>("Dense")
                     .doc("[..., in] -> [..., units]; a matrix product over the last axis")
                     .positional(extent_key("units", &DenseSpec::units).required().doc("number of outputs")),
                 one_kernel<DenseSpec>())
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output(dense_output)
        .weights(dense_weights)
        .example("units: 9, activation: relu", {{4}});

Padding padding_of(Padding padding) { return padding; }
Padding padding_of(StepsPadding padding) {
  switch (padding) {
    case StepsPadding::kValid: return Padding::kValid;
    case StepsPadding::kSame: return Padding::kSame;
    case StepsPadding::kCausal: return Padding::kCausal;
  }
  return {};
}

template <class Spec>
auto filters_key() {
  return extent_key("filters", &Spec::filters).required().doc("number of output channels");
}
template <class Spec>
auto multiplier_key(const char* text) {
  return extent_key("depth_multiplier", &Spec::depth_multiplier).doc(text);
}

/// The output shape of a convolution over `in`. Throws LayerError.
template <class Spec>
Shape output_shape(const Spec& spec, const Shape& in, std::int64_t channels) {
  refuse_strided_dilation(axes(spec.strides), axes(spec.dilation_rate));
  return window_shape(in, axes(spec.kernel_size), axes(spec.strides), axes(spec.dilation_rate),
                      padding_of(spec.padding), channels);
}

/// Returns channels * multiplier. Throws LayerError if it exceeds kMaxExtent.
std::int64_t multiplied_channels(std::int64_t channels, std::int64_t multiplier) {
  const std::int64_t product = channels * multiplier;
  if (product > kMaxExtent)
    throw LayerError(fmt::format("depth_multiplier {} makes {} channels of {}, more than {}", multiplier, product,
                                 channels, kMaxExtent));
  return product;
}

void check_groups(std::int64_t groups, std::int64_t channels, std::int64_t filters) {
  if (channels % groups != 0)
    throw LayerError(fmt::format("groups {} do not divide the input's {} channels", groups, channels));
  if (filters % groups != 0) throw LayerError(fmt::format("groups {} do not divide filters {}", groups, filters));
}

Conv2DSpec image_of(const Conv1DSpec& spec) {
  auto image = over_images<Conv2DSpec>(spec);
  image.filters = spec.filters;
  image.padding = padding_of(spec.padding);
  image.groups = spec.groups;
  return image;
}

template <int Rank>
LayerBuilder<ConvSpec<Rank>> convolution(const char* name) {
  using Spec = ConvSpec<Rank>;
  auto builder = layer<Spec>(name);
  auto padding = padding_key<Spec>();
  if constexpr (Rank == 1)
    padding.doc("valid, same, or causal: no output depends on later steps; the last two round the size up");
  builder.doc(shape_text(Rank) + " -> " + shape_text(Rank, "'", "filters"))
      .positional(filters_key<Spec>())
      .key(kernel_size_key<Spec>())
      .key(strides_key<Spec>())
      .key(padding)
      .key(dilation_key<Spec>())
      .key(key("groups", &Spec::groups)
               .at_least(1)
               .doc("groups of channels, each with separate filters; divides the input's channels and `filters`"));
  return with_kernels(std::move(builder), one_kernel<Spec>())
      .inputs(1)
      .of_rank(Rank + 1)
      .output([](const Spec& spec, std::span<const Shape> in) {
        check_groups(spec.groups, in[0].back(), spec.filters);
        return output_shape(spec, in[0], spec.filters);
      })
      .weights([](const Spec& spec, std::span<const Shape> in) {
        return weights_of(spec, one_kernel<Spec>(),
                          {joined(axes(spec.kernel_size), {in[0].back() / spec.groups, spec.filters})}, spec.filters);
      });
}

const Registered kConv1D = convolution<1>("Conv1D").computed_as(image_of).example(
    "filters: 5, kernel_size: 3, padding: causal, activation: relu", {{42, 4}});
const Registered kConv2D =
    convolution<2>("Conv2D").example("filters: 5, kernel_size: 3, activation: relu", {{7, 6, 4}});
const Registered kConv3D = convolution<3>("Conv3D")
                               .example("filters: 5, kernel_size: 3, padding: same, activation: relu", {{3, 7, 2, 4}})
                               .example("filters: 4, kernel_size: [2, 3, 1], strides: 2, groups: 2", {{3, 7, 2, 4}});

struct TransposedAxis {
  std::int64_t in, kernel, stride, dilation;
  Padding padding;
  std::optional<std::int64_t> extra;  ///< output_padding

  std::int64_t out() const {
    const std::int64_t window = (kernel - 1) * dilation + 1;
    if (!extra) return in * stride + (padding == Padding::kSame ? 0 : std::max<std::int64_t>(window - stride, 0));
    return (in - 1) * stride + (padding == Padding::kSame ? window % 2 : window) + *extra;
  }
};

/// Keras's deconv_output_length.
std::int64_t transposed_extent(const TransposedAxis& a) {
  if (a.extra && *a.extra >= a.stride)
    throw LayerError(fmt::format("output_padding {} must be smaller than the stride {}", *a.extra, a.stride));
  const std::int64_t out = a.out();
  if (out > kMaxExtent)
    throw LayerError(fmt::format("strides make an extent of {} from {}, more than {}", out, a.in, kMaxExtent));
  if (out < 1 || window_axis(out, a.kernel, a.stride, a.dilation, a.padding).out != a.in)
    throw LayerError(fmt::format(
        "output_padding {} with kernel {}, stride {} and padding {} gives an extent of {}, which no convolution "
        "maps back to {}",
        a.extra.value_or(0), a.kernel, a.stride, config::Value<Padding>::write(a.padding).str(), out, a.in));
  return out;
}

/// The output's extents. Throws LayerError if no convolution maps them back to those of `in`.
template <int Rank>
Axes transposed_axes(const ConvTransposeSpec<Rank>& spec, const Shape& in) {
  const Axes kernel = axes(spec.kernel_size), strides = axes(spec.strides), dilation = axes(spec.dilation_rate);
  Axes out;
  for (std::size_t i = 0; i < kernel.size(); ++i)
    out.push_back(transposed_extent(
        {.in = in.dims()[i],
         .kernel = kernel[i],
         .stride = strides[i],
         .dilation = dilation[i],
         .padding = spec.padding,
         .extra = spec.output_padding ? std::optional(axes(*spec.output_padding)[i]) : std::nullopt}));
  return out;
}

Conv2DTransposeSpec image_of(const Conv1DTransposeSpec& spec) {
  auto image = over_images<Conv2DTransposeSpec>(spec);
  image.filters = spec.filters;
  image.padding = spec.padding;
  // An output_padding of 0 keeps the height at 1, for any padding.
  if (spec.output_padding) image.output_padding = Size2{0, spec.output_padding->n};
  return image;
}

template <int Rank>
LayerBuilder<ConvTransposeSpec<Rank>> transposed_convolution(const char* name) {
  using Spec = ConvTransposeSpec<Rank>;
  auto builder = layer<Spec>(name);
  builder
      .doc(fmt::format("{} -> {}; the gradient of Conv{}D with respect to its input", shape_text(Rank),
                       shape_text(Rank, "'", "filters"), Rank))
      .positional(filters_key<Spec>())
      .key(kernel_size_key<Spec>())
      .key(strides_key<Spec>())
      .key(padding_key<Spec>("times the strides"))
      .key(key("output_padding", &Spec::output_padding)
               .at_least(0)
               .check(ExtentCheck{})
               .doc("size added at the end of the output, below `strides`"))
      .key(dilation_key<Spec>());
  return with_kernels(std::move(builder), one_kernel<Spec>())
      .inputs(1)
      .of_rank(Rank + 1)
      .output([](const Spec& spec, std::span<const Shape> in) {
        refuse_strided_dilation(axes(spec.strides), axes(spec.dilation_rate));
        return joined(transposed_axes(spec, in[0]), {spec.filters});
      })
      .weights([](const Spec& spec, std::span<const Shape> in) {
        return weights_of(spec, one_kernel<Spec>(), {joined(axes(spec.kernel_size), {spec.filters, in[0].back()})},
                          spec.filters);
      });
}

const Registered kConv1DTranspose = transposed_convolution<1>("Conv1DTranspose")
                                        .computed_as(image_of)
                                        .example("filters: 5, kernel_size: 3, strides: 2", {{42, 4}});
const Registered kConv2DTranspose =
    transposed_convolution<2>("Conv2DTranspose").example("filters: 5, kernel_size: 3, strides: 2", {{7, 6, 4}});
const Registered kConv3DTranspose =
    transposed_convolution<3>("Conv3DTranspose")
        .example("filters: 3, kernel_size: [2, 3, 3], strides: [1, 2, 2]", {{3, 7, 2, 4}});

DepthwiseConv2DSpec image_of(const DepthwiseConv1DSpec& spec) {
  auto image = over_images<DepthwiseConv2DSpec>(spec);
  image.padding = spec.padding;
  image.depth_multiplier = spec.depth_multiplier;
  return image;
}

template <int Rank>
LayerBuilder<DepthwiseConvSpec<Rank>> depthwise_convolution(const char* name) {
  using Spec = DepthwiseConvSpec<Rank>;
  static const Kernels<Spec> kKernels{{"depthwise", &Spec::depthwise_initializer, &Spec::depthwise_regularizer}};
  auto builder = layer<Spec>(name);
  builder
      .doc(shape_text(Rank) + " -> " + shape_text(Rank, "'", "C * depth_multiplier") +
           "; each channel has separate filters")
      .positional(kernel_size_key<Spec>())
      .key(strides_key<Spec>())
      .key(padding_key<Spec>())
      .key(multiplier_key<Spec>("output channels for each input channel"))
      .key(dilation_key<Spec>());
  return with_kernels(std::move(builder), kKernels)
      .inputs(1)
      .of_rank(Rank + 1)
      .output([](const Spec& spec, std::span<const Shape> in) {
        return output_shape(spec, in[0], multiplied_channels(in[0].back(), spec.depth_multiplier));
      })
      .weights([](const Spec& spec, std::span<const Shape> in) {
        const std::int64_t channels = in[0].back();
        return weights_of(spec, kKernels, {joined(axes(spec.kernel_size), {channels, spec.depth_multiplier})},
                          channels * spec.depth_multiplier);
      });
}

const Registered kDepthwiseConv1D = depthwise_convolution<1>("DepthwiseConv1D")
                                        .computed_as(image_of)
                                        .example("kernel_size: 3, padding: same, depth_multiplier: 2", {{42, 4}});
const Registered kDepthwiseConv2D = depthwise_convolution<2>("DepthwiseConv2D")
                                        .example("kernel_size: 3, padding: same, depth_multiplier: 2", {{7, 6, 4}})
                                        .example("kernel_size: 3", {{7, 6, 5}});

SeparableConv2DSpec image_of(const SeparableConv1DSpec& spec) {
  auto image = over_images<SeparableConv2DSpec>(spec);
  image.filters = spec.filters;
  image.padding = spec.padding;
  image.depth_multiplier = spec.depth_multiplier;
  return image;
}

template <int Rank>
LayerBuilder<SeparableConvSpec<Rank>> separable_convolution(const char* name) {
  using Spec = SeparableConvSpec<Rank>;
  static const Kernels<Spec> kKernels{{"depthwise", &Spec::depthwise_initializer, &Spec::depthwise_regularizer},
                                      {"pointwise", &Spec::pointwise_initializer, &Spec::pointwise_regularizer}};
  auto builder = layer<Spec>(name);
  builder
      .doc(shape_text(Rank) + " -> " + shape_text(Rank, "'", "filters") +
           "; a depthwise convolution, then one with a kernel of size 1")
      .positional(filters_key<Spec>())
      .key(kernel_size_key<Spec>())
      .key(strides_key<Spec>())
      .key(padding_key<Spec>())
      .key(dilation_key<Spec>())
      .key(multiplier_key<Spec>("channels of the depthwise result for each input channel"));
  return with_kernels(std::move(builder), kKernels)
      .inputs(1)
      .of_rank(Rank + 1)
      .output([](const Spec& spec, std::span<const Shape> in) {
        multiplied_channels(in[0].back(), spec.depth_multiplier);  // throws
        return output_shape(spec, in[0], spec.filters);
      })
      .weights([](const Spec& spec, std::span<const Shape> in) {
        const std::int64_t channels = in[0].back(), between = channels * spec.depth_multiplier;
        return weights_of(spec, kKernels,
                          {joined(axes(spec.kernel_size), {channels, spec.depth_multiplier}),
                           joined(Axes(Rank, 1), {between, spec.filters})},
                          spec.filters);
      });
}

const Registered kSeparableConv1D =
    separable_convolution<1>("SeparableConv1D").computed_as(image_of).example("filters: 6, kernel_size: 3", {{42, 4}});
const Registered kSeparableConv2D =
    separable_convolution<2>("SeparableConv2D").example("filters: 6, kernel_size: 3", {{7, 6, 4}});

}  // namespace

Size2 transposed_extents(const Conv2DTransposeSpec& spec, const Shape& in) {
  const Axes out = transposed_axes(spec, in);
  return {out[0], out[1]};
}

}  // namespace dptrain::nn
