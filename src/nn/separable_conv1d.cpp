#include "nn/separable_conv1d.h"

#include "nn/kernels_and_bias.h"
#include "nn/separable_conv2d.h"

namespace dptrain::nn {
namespace {

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

}  // namespace
}  // namespace dptrain::nn
