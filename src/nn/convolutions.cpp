#include "nn/convolutions.h"

#include "core/format.h"
#include "nn/kernels_and_bias.h"

namespace dptrain::nn {
namespace {

const KernelsAndBias<Conv1DSpec> kConv1DKernels({{"kernel", &Conv1DSpec::kernel_initializer,
                                                  &Conv1DSpec::kernel_regularizer}});

Padding padding_of(StepsPadding padding) {
  switch (padding) {
    case StepsPadding::kValid: return Padding::kValid;
    case StepsPadding::kSame: return Padding::kSame;
    case StepsPadding::kCausal: return Padding::kCausal;
  }
  return {};
}

Conv2DSpec image_of(const Conv1DSpec& spec) {
  auto image = over_images<Conv2DSpec>(spec);
  image.filters = spec.filters;
  image.padding = padding_of(spec.padding);
  image.groups = spec.groups;
  return image;
}

Shape output(const Conv1DSpec& spec, std::span<const Shape> in) {
  check_groups(spec.groups, in[0][1], spec.filters);
  refuse_strided_dilation(along(spec.strides), along(spec.dilation_rate));
  return {windows(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, padding_of(spec.padding)), spec.filters};
}

std::vector<WeightDef> weights(const Conv1DSpec& spec, std::span<const Shape> in) {
  const Shape kernel{spec.kernel_size.n, in[0][1] / spec.groups, spec.filters};
  return kConv1DKernels.weights(spec, {kernel}, spec.filters);
}

const Registered kConv1D =
    kConv1DKernels
        .add_to(layer<Conv1DSpec>("Conv1D")
                    .positional(key("filters", &Conv1DSpec::filters).required().at_least(1).check(Bounded{}))
                    .key(key("kernel_size", &Conv1DSpec::kernel_size).required().at_least(1).check(BoundedExtent{}))
                    .key(key("strides", &Conv1DSpec::strides).at_least(1).check(BoundedExtent{}))
                    .key(key("padding", &Conv1DSpec::padding))
                    .key(key("dilation_rate", &Conv1DSpec::dilation_rate).at_least(1).check(BoundedExtent{}))
                    .key(key("groups", &Conv1DSpec::groups).at_least(1)))
        .inputs(1)
        .of_rank(2)
        .output(output)
        .weights(weights)
        .computed_as(image_of);

const KernelsAndBias<Conv2DSpec> kConv2DKernels({{"kernel", &Conv2DSpec::kernel_initializer,
                                                  &Conv2DSpec::kernel_regularizer}});

Shape output(const Conv2DSpec& spec, std::span<const Shape> in) {
  check_groups(spec.groups, in[0][2], spec.filters);
  refuse_strided_dilation(spec.strides, spec.dilation_rate);
  const Window w = window(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  return {w.h.out, w.w.out, spec.filters};
}

std::vector<WeightDef> weights(const Conv2DSpec& spec, std::span<const Shape> in) {
  const Shape kernel{spec.kernel_size.h, spec.kernel_size.w, in[0][2] / spec.groups, spec.filters};
  return kConv2DKernels.weights(spec, {kernel}, spec.filters);
}

const Registered kConv2D =
    kConv2DKernels
        .add_to(layer<Conv2DSpec>("Conv2D")
                    .positional(key("filters", &Conv2DSpec::filters).required().at_least(1).check(Bounded{}))
                    .key(key("kernel_size", &Conv2DSpec::kernel_size).required().at_least(1).check(Bounded{}))
                    .key(key("strides", &Conv2DSpec::strides).at_least(1).check(Bounded{}))
                    .key(key("padding", &Conv2DSpec::padding))
                    .key(key("dilation_rate", &Conv2DSpec::dilation_rate).at_least(1).check(Bounded{}))
                    .key(key("groups", &Conv2DSpec::groups).at_least(1)))
        .inputs(1)
        .of_rank(3)
        .output(output)
        .weights(weights);

const KernelsAndBias<Conv3DSpec> kConv3DKernels({{"kernel", &Conv3DSpec::kernel_initializer,
                                                  &Conv3DSpec::kernel_regularizer}});

Shape output(const Conv3DSpec& spec, std::span<const Shape> in) {
  check_groups(spec.groups, in[0][3], spec.filters);
  refuse_strided_dilation(spec.strides, spec.dilation_rate);
  return volume_windows(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding, spec.filters);
}

std::vector<WeightDef> weights(const Conv3DSpec& spec, std::span<const Shape> in) {
  const Size3& k = spec.kernel_size;
  const Shape kernel{k.d, k.h, k.w, in[0][3] / spec.groups, spec.filters};
  return kConv3DKernels.weights(spec, {kernel}, spec.filters);
}

const Registered kConv3D =
    kConv3DKernels
        .add_to(layer<Conv3DSpec>("Conv3D")
                    .positional(key("filters", &Conv3DSpec::filters).required().at_least(1).check(Bounded{}))
                    .key(key("kernel_size", &Conv3DSpec::kernel_size).required().at_least(1).check(BoundedVolume{}))
                    .key(key("strides", &Conv3DSpec::strides).at_least(1).check(BoundedVolume{}))
                    .key(key("padding", &Conv3DSpec::padding))
                    .key(key("dilation_rate", &Conv3DSpec::dilation_rate).at_least(1).check(BoundedVolume{}))
                    .key(key("groups", &Conv3DSpec::groups).at_least(1)))
        .inputs(1)
        .of_rank(4)
        .output(output)
        .weights(weights);

const KernelsAndBias<Conv1DTransposeSpec> kConv1DTransposeKernels({{"kernel", &Conv1DTransposeSpec::kernel_initializer,
                                                                    &Conv1DTransposeSpec::kernel_regularizer}});

Conv2DTransposeSpec image_of(const Conv1DTransposeSpec& spec) {
  auto image = over_images<Conv2DTransposeSpec>(spec);
  image.filters = spec.filters;
  image.padding = spec.padding;
  // Of the height it is 0: a height of 1 stays 1 with any padding.
  if (spec.output_padding) image.output_padding = Size2{0, spec.output_padding->n};
  return image;
}

Shape output(const Conv1DTransposeSpec& spec, std::span<const Shape> in) {
  refuse_strided_dilation(along(spec.strides), along(spec.dilation_rate));
  return {transposed_extents(image_of(spec), with_height(in[0])).w, spec.filters};
}

std::vector<WeightDef> weights(const Conv1DTransposeSpec& spec, std::span<const Shape> in) {
  const Shape kernel{spec.kernel_size.n, spec.filters, in[0][1]};
  return kConv1DTransposeKernels.weights(spec, {kernel}, spec.filters);
}

const Registered kConv1DTranspose =
    kConv1DTransposeKernels
        .add_to(
            layer<Conv1DTransposeSpec>("Conv1DTranspose")
                .positional(key("filters", &Conv1DTransposeSpec::filters).required().at_least(1).check(Bounded{}))
                .key(
                    key("kernel_size", &Conv1DTransposeSpec::kernel_size).required().at_least(1).check(BoundedExtent{}))
                .key(key("strides", &Conv1DTransposeSpec::strides).at_least(1).check(BoundedExtent{}))
                .key(key("padding", &Conv1DTransposeSpec::padding))
                .key(key("output_padding", &Conv1DTransposeSpec::output_padding).at_least(0).check(BoundedExtent{}))
                .key(key("dilation_rate", &Conv1DTransposeSpec::dilation_rate).at_least(1).check(BoundedExtent{})))
        .inputs(1)
        .of_rank(2)
        .output(output)
        .weights(weights)
        .computed_as(image_of);

const KernelsAndBias<Conv2DTransposeSpec> kConv2DTransposeKernels({{"kernel", &Conv2DTransposeSpec::kernel_initializer,
                                                                    &Conv2DTransposeSpec::kernel_regularizer}});

std::int64_t extent(const TransposedAxis& a) {
  const std::int64_t window = (a.kernel - 1) * a.dilation + 1;
  if (!a.extra)
    return a.in * a.stride + (a.padding == Padding::kSame ? 0 : std::max<std::int64_t>(window - a.stride, 0));
  return (a.in - 1) * a.stride + (a.padding == Padding::kSame ? window % 2 : window) + *a.extra;
}

Shape output(const Conv2DTransposeSpec& spec, std::span<const Shape> in) {
  refuse_strided_dilation(spec.strides, spec.dilation_rate);
  const Size2 out = transposed_extents(spec, in[0]);
  return {out.h, out.w, spec.filters};
}

std::vector<WeightDef> weights(const Conv2DTransposeSpec& spec, std::span<const Shape> in) {
  const Shape kernel{spec.kernel_size.h, spec.kernel_size.w, spec.filters, in[0][2]};
  return kConv2DTransposeKernels.weights(spec, {kernel}, spec.filters);
}

const Registered kConv2DTranspose =
    kConv2DTransposeKernels
        .add_to(layer<Conv2DTransposeSpec>("Conv2DTranspose")
                    .positional(key("filters", &Conv2DTransposeSpec::filters).required().at_least(1).check(Bounded{}))
                    .key(key("kernel_size", &Conv2DTransposeSpec::kernel_size).required().at_least(1).check(Bounded{}))
                    .key(key("strides", &Conv2DTransposeSpec::strides).at_least(1).check(Bounded{}))
                    .key(key("padding", &Conv2DTransposeSpec::padding))
                    .key(key("output_padding", &Conv2DTransposeSpec::output_padding).at_least(0).check(Bounded{}))
                    .key(key("dilation_rate", &Conv2DTransposeSpec::dilation_rate).at_least(1).check(Bounded{})))
        .inputs(1)
        .of_rank(3)
        .output(output)
        .weights(weights);

}  // namespace

std::int64_t transposed_extent(const TransposedAxis& a) {
  if (a.extra && *a.extra >= a.stride)
    throw LayerError(fmt::format("output_padding {} must be smaller than the stride {}", *a.extra, a.stride));
  const std::int64_t out = extent(a);
  if (out > kMaxExtent)
    throw LayerError(fmt::format("strides make an extent of {} from {}, more than {}", out, a.in, kMaxExtent));
  if (out < 1 || window_axis(out, a.kernel, a.stride, a.dilation, a.padding).out != a.in)
    throw LayerError(fmt::format(
        "output_padding {} with kernel {}, stride {} and padding {} gives an extent of {}, from which no convolution "
        "leads back to {}",
        a.extra.value_or(0), a.kernel, a.stride, config::Value<Padding>::write(a.padding).str(), out, a.in));
  return out;
}

Size2 transposed_extents(const Conv2DTransposeSpec& spec, const Shape& in) {
  const auto extra = [&](std::int64_t Size2::*side) {
    return spec.output_padding ? std::optional((*spec.output_padding).*side) : std::nullopt;
  };
  const auto of = [&](std::int64_t extent_in, std::int64_t Size2::*side) {
    return transposed_extent({.in = extent_in,
                              .kernel = spec.kernel_size.*side,
                              .stride = spec.strides.*side,
                              .dilation = spec.dilation_rate.*side,
                              .padding = spec.padding,
                              .extra = extra(side)});
  };
  return {of(in[0], &Size2::h), of(in[1], &Size2::w)};
}

namespace {

const KernelsAndBias<Conv3DTransposeSpec> kConv3DTransposeKernels({{"kernel", &Conv3DTransposeSpec::kernel_initializer,
                                                                    &Conv3DTransposeSpec::kernel_regularizer}});

Shape output(const Conv3DTransposeSpec& spec, std::span<const Shape> in) {
  refuse_strided_dilation(spec.strides, spec.dilation_rate);
  const auto of = [&](int axis, std::int64_t Size3::*side) {
    return transposed_extent(
        {.in = in[0][axis],
         .kernel = spec.kernel_size.*side,
         .stride = spec.strides.*side,
         .dilation = spec.dilation_rate.*side,
         .padding = spec.padding,
         .extra = spec.output_padding ? std::optional((*spec.output_padding).*side) : std::nullopt});
  };
  return {of(0, &Size3::d), of(1, &Size3::h), of(2, &Size3::w), spec.filters};
}

std::vector<WeightDef> weights(const Conv3DTransposeSpec& spec, std::span<const Shape> in) {
  const Size3& k = spec.kernel_size;
  return kConv3DTransposeKernels.weights(spec, {{k.d, k.h, k.w, spec.filters, in[0][3]}}, spec.filters);
}

const Registered kConv3DTranspose =
    kConv3DTransposeKernels
        .add_to(
            layer<Conv3DTransposeSpec>("Conv3DTranspose")
                .positional(key("filters", &Conv3DTransposeSpec::filters).required().at_least(1).check(Bounded{}))
                .key(
                    key("kernel_size", &Conv3DTransposeSpec::kernel_size).required().at_least(1).check(BoundedVolume{}))
                .key(key("strides", &Conv3DTransposeSpec::strides).at_least(1).check(BoundedVolume{}))
                .key(key("padding", &Conv3DTransposeSpec::padding))
                .key(key("output_padding", &Conv3DTransposeSpec::output_padding).at_least(0).check(BoundedVolume{}))
                .key(key("dilation_rate", &Conv3DTransposeSpec::dilation_rate).at_least(1).check(BoundedVolume{})))
        .inputs(1)
        .of_rank(4)
        .output(output)
        .weights(weights);

const KernelsAndBias<DepthwiseConv1DSpec> kDepthwiseConv1DKernels(
    {{"depthwise", &DepthwiseConv1DSpec::depthwise_initializer, &DepthwiseConv1DSpec::depthwise_regularizer}});

DepthwiseConv2DSpec image_of(const DepthwiseConv1DSpec& spec) {
  auto image = over_images<DepthwiseConv2DSpec>(spec);
  image.padding = spec.padding;
  image.depth_multiplier = spec.depth_multiplier;
  return image;
}

Shape output(const DepthwiseConv1DSpec& spec, std::span<const Shape> in) {
  refuse_strided_dilation(along(spec.strides), along(spec.dilation_rate));
  return {windows(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding),
          multiplied_channels(in[0][1], spec.depth_multiplier)};
}

std::vector<WeightDef> weights(const DepthwiseConv1DSpec& spec, std::span<const Shape> in) {
  const Shape kernel{spec.kernel_size.n, in[0][1], spec.depth_multiplier};
  return kDepthwiseConv1DKernels.weights(spec, {kernel}, in[0][1] * spec.depth_multiplier);
}

const Registered kDepthwiseConv1D =
    kDepthwiseConv1DKernels
        .add_to(
            layer<DepthwiseConv1DSpec>("DepthwiseConv1D")
                .positional(
                    key("kernel_size", &DepthwiseConv1DSpec::kernel_size).required().at_least(1).check(BoundedExtent{}))
                .key(key("strides", &DepthwiseConv1DSpec::strides).at_least(1).check(BoundedExtent{}))
                .key(key("padding", &DepthwiseConv1DSpec::padding))
                .key(key("depth_multiplier", &DepthwiseConv1DSpec::depth_multiplier).at_least(1).check(Bounded{}))
                .key(key("dilation_rate", &DepthwiseConv1DSpec::dilation_rate).at_least(1).check(BoundedExtent{})))
        .inputs(1)
        .of_rank(2)
        .output(output)
        .weights(weights)
        .computed_as(image_of);

const KernelsAndBias<DepthwiseConv2DSpec> kDepthwiseConv2DKernels(
    {{"depthwise", &DepthwiseConv2DSpec::depthwise_initializer, &DepthwiseConv2DSpec::depthwise_regularizer}});

Shape output(const DepthwiseConv2DSpec& spec, std::span<const Shape> in) {
  return depthwise_output(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding,
                          spec.depth_multiplier);
}

std::vector<WeightDef> weights(const DepthwiseConv2DSpec& spec, std::span<const Shape> in) {
  const Shape kernel{spec.kernel_size.h, spec.kernel_size.w, in[0][2], spec.depth_multiplier};
  return kDepthwiseConv2DKernels.weights(spec, {kernel}, in[0][2] * spec.depth_multiplier);
}

const Registered kDepthwiseConv2D =
    kDepthwiseConv2DKernels
        .add_to(layer<DepthwiseConv2DSpec>("DepthwiseConv2D")
                    .positional(
                        key("kernel_size", &DepthwiseConv2DSpec::kernel_size).required().at_least(1).check(Bounded{}))
                    .key(key("strides", &DepthwiseConv2DSpec::strides).at_least(1).check(Bounded{}))
                    .key(key("padding", &DepthwiseConv2DSpec::padding))
                    .key(key("depth_multiplier", &DepthwiseConv2DSpec::depth_multiplier).at_least(1).check(Bounded{}))
                    .key(key("dilation_rate", &DepthwiseConv2DSpec::dilation_rate).at_least(1).check(Bounded{})))
        .inputs(1)
        .of_rank(3)
        .output(output)
        .weights(weights);

const KernelsAndBias<SeparableConv1DSpec> kSeparableConv1DKernels(
    {{"depthwise", &SeparableConv1DSpec::depthwise_initializer, &SeparableConv1DSpec::depthwise_regularizer},
     {"pointwise", &SeparableConv1DSpec::pointwise_initializer, &SeparableConv1DSpec::pointwise_regularizer}});

SeparableConv2DSpec image_of(const SeparableConv1DSpec& spec) {
  auto image = over_images<SeparableConv2DSpec>(spec);
  image.filters = spec.filters;
  image.padding = spec.padding;
  image.depth_multiplier = spec.depth_multiplier;
  return image;
}

Shape output(const SeparableConv1DSpec& spec, std::span<const Shape> in) {
  refuse_strided_dilation(along(spec.strides), along(spec.dilation_rate));
  multiplied_channels(in[0][1], spec.depth_multiplier);
  return {windows(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding), spec.filters};
}

std::vector<WeightDef> weights(const SeparableConv1DSpec& spec, std::span<const Shape> in) {
  const std::int64_t channels = in[0][1];
  const Shape depthwise{spec.kernel_size.n, channels, spec.depth_multiplier};
  const Shape pointwise{1, channels * spec.depth_multiplier, spec.filters};
  return kSeparableConv1DKernels.weights(spec, {depthwise, pointwise}, spec.filters);
}

const Registered kSeparableConv1D =
    kSeparableConv1DKernels
        .add_to(
            layer<SeparableConv1DSpec>("SeparableConv1D")
                .positional(key("filters", &SeparableConv1DSpec::filters).required().at_least(1).check(Bounded{}))
                .key(
                    key("kernel_size", &SeparableConv1DSpec::kernel_size).required().at_least(1).check(BoundedExtent{}))
                .key(key("strides", &SeparableConv1DSpec::strides).at_least(1).check(BoundedExtent{}))
                .key(key("padding", &SeparableConv1DSpec::padding))
                .key(key("dilation_rate", &SeparableConv1DSpec::dilation_rate).at_least(1).check(BoundedExtent{}))
                .key(key("depth_multiplier", &SeparableConv1DSpec::depth_multiplier).at_least(1).check(Bounded{})))
        .inputs(1)
        .of_rank(2)
        .output(output)
        .weights(weights)
        .computed_as(image_of);

const KernelsAndBias<SeparableConv2DSpec> kSeparableConv2DKernels(
    {{"depthwise", &SeparableConv2DSpec::depthwise_initializer, &SeparableConv2DSpec::depthwise_regularizer},
     {"pointwise", &SeparableConv2DSpec::pointwise_initializer, &SeparableConv2DSpec::pointwise_regularizer}});

Shape output(const SeparableConv2DSpec& spec, std::span<const Shape> in) {
  const Shape between =
      depthwise_output(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding, spec.depth_multiplier);
  return {between[0], between[1], spec.filters};
}

std::vector<WeightDef> weights(const SeparableConv2DSpec& spec, std::span<const Shape> in) {
  const std::int64_t channels = in[0][2];
  const Shape depthwise{spec.kernel_size.h, spec.kernel_size.w, channels, spec.depth_multiplier};
  const Shape pointwise{1, 1, channels * spec.depth_multiplier, spec.filters};
  return kSeparableConv2DKernels.weights(spec, {depthwise, pointwise}, spec.filters);
}

const Registered kSeparableConv2D =
    kSeparableConv2DKernels
        .add_to(layer<SeparableConv2DSpec>("SeparableConv2D")
                    .positional(key("filters", &SeparableConv2DSpec::filters).required().at_least(1).check(Bounded{}))
                    .key(key("kernel_size", &SeparableConv2DSpec::kernel_size).required().at_least(1).check(Bounded{}))
                    .key(key("strides", &SeparableConv2DSpec::strides).at_least(1).check(Bounded{}))
                    .key(key("padding", &SeparableConv2DSpec::padding))
                    .key(key("dilation_rate", &SeparableConv2DSpec::dilation_rate).at_least(1).check(Bounded{}))
                    .key(key("depth_multiplier", &SeparableConv2DSpec::depth_multiplier).at_least(1).check(Bounded{})))
        .inputs(1)
        .of_rank(3)
        .output(output)
        .weights(weights);

}  // namespace
}  // namespace dptrain::nn
