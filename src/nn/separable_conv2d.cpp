#include "nn/separable_conv2d.h"

#include "nn/kernels_and_bias.h"

namespace dptrain::nn {
namespace {

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
