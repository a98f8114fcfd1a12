#include "layers/separable_conv2d.h"

#include "layers/kernels_and_bias.h"

namespace dptrain::layers {
namespace {

using Spec = SeparableConv2DSpec;

const KernelsAndBias<Spec> kKernels({{"depthwise", &Spec::depthwise_initializer, &Spec::depthwise_regularizer},
                                     {"pointwise", &Spec::pointwise_initializer, &Spec::pointwise_regularizer}});

Shape output(const Spec& spec, std::span<const Shape> in) {
  const Shape between =
      depthwise_output(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding, spec.depth_multiplier);
  return {between[0], between[1], spec.filters};
}

std::vector<WeightDef> weights(const Spec& spec, std::span<const Shape> in) {
  const std::int64_t channels = in[0][2];
  const Shape depthwise{spec.kernel_size.h, spec.kernel_size.w, channels, spec.depth_multiplier};
  const Shape pointwise{1, 1, channels * spec.depth_multiplier, spec.filters};
  return kKernels.weights(spec, {depthwise, pointwise}, spec.filters);
}

config::Node keras(const Spec& spec, std::span<const Shape>) {
  return kKernels.keras(spec, {{"filters", config::Node::integer(spec.filters)},
                               {"kernel_size", keras_size(spec.kernel_size)},
                               {"strides", keras_size(spec.strides)},
                               {"padding", keras_padding(spec.padding)},
                               {"data_format", keras_channels_last()},
                               {"dilation_rate", keras_size(spec.dilation_rate)},
                               {"depth_multiplier", config::Node::integer(spec.depth_multiplier)}});
}

const Registered kSeparableConv2D =
    kKernels
        .add_to(layer<Spec>("SeparableConv2D")
                    .positional(key("filters", &Spec::filters).required().at_least(1).check(Bounded{}))
                    .key(key("kernel_size", &Spec::kernel_size).required().at_least(1).check(Bounded{}))
                    .key(key("strides", &Spec::strides).at_least(1).check(Bounded{}))
                    .key(key("padding", &Spec::padding))
                    .key(key("dilation_rate", &Spec::dilation_rate).at_least(1).check(Bounded{}))
                    .key(key("depth_multiplier", &Spec::depth_multiplier).at_least(1).check(Bounded{})))
        .inputs(1)
        .of_rank(3)
        .output(output)
        .weights(weights)
        .keras(keras);

}  // namespace
}  // namespace dptrain::layers
