#include "nn/depthwise_conv2d.h"

#include "nn/kernels_and_bias.h"

namespace dptrain::nn {
namespace {

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

}  // namespace
}  // namespace dptrain::nn
