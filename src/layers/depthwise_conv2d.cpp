#include "layers/depthwise_conv2d.h"

#include "layers/kernels_and_bias.h"

namespace dptrain::layers {
namespace {

using Spec = DepthwiseConv2DSpec;

const KernelsAndBias<Spec> kKernels({{"depthwise", &Spec::depthwise_initializer, &Spec::depthwise_regularizer}});

Shape output(const Spec& spec, std::span<const Shape> in) {
  return depthwise_output(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding,
                          spec.depth_multiplier);
}

std::vector<WeightDef> weights(const Spec& spec, std::span<const Shape> in) {
  const Shape kernel{spec.kernel_size.h, spec.kernel_size.w, in[0][2], spec.depth_multiplier};
  return kKernels.weights(spec, {kernel}, in[0][2] * spec.depth_multiplier);
}

config::Node keras(const Spec& spec, std::span<const Shape>) {
  return kKernels.keras(spec, {{"kernel_size", keras_size(spec.kernel_size)},
                               {"strides", keras_size(spec.strides)},
                               {"padding", keras_padding(spec.padding)},
                               {"depth_multiplier", config::Node::integer(spec.depth_multiplier)},
                               {"data_format", keras_channels_last()},
                               {"dilation_rate", keras_size(spec.dilation_rate)}});
}

const Registered kDepthwiseConv2D =
    kKernels
        .add_to(layer<Spec>("DepthwiseConv2D")
                    .positional(key("kernel_size", &Spec::kernel_size).required().at_least(1).check(Bounded{}))
                    .key(key("strides", &Spec::strides).at_least(1).check(Bounded{}))
                    .key(key("padding", &Spec::padding))
                    .key(key("depth_multiplier", &Spec::depth_multiplier).at_least(1).check(Bounded{}))
                    .key(key("dilation_rate", &Spec::dilation_rate).at_least(1).check(Bounded{})))
        .inputs(1)
        .of_rank(3)
        .output(output)
        .weights(weights)
        .keras(keras);

}  // namespace
}  // namespace dptrain::layers
