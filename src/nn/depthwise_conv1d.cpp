#include "nn/depthwise_conv1d.h"

#include "nn/depthwise_conv2d.h"
#include "nn/kernels_and_bias.h"

namespace dptrain::nn {
namespace {

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

}  // namespace
}  // namespace dptrain::nn
