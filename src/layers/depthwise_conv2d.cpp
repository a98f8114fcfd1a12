#include "layers/depthwise_conv2d.h"

#include "layers/keras_export.h"
#include "layers/layer.h"

namespace dptrain::layers {
namespace {

using Spec = DepthwiseConv2DSpec;

Shape output(const Spec& spec, std::span<const Shape> in) {
  return depthwise_output(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding,
                          spec.depth_multiplier);
}

std::vector<WeightDef> weights(const Spec& spec, std::span<const Shape> in) {
  const std::int64_t channels = in[0][2];
  std::vector<WeightDef> all{{.name = "depthwise_kernel",
                              .shape = {spec.kernel_size.h, spec.kernel_size.w, channels, spec.depth_multiplier},
                              .initializer = spec.depthwise_initializer,
                              .regularizer = spec.depthwise_regularizer}};
  if (spec.use_bias)
    all.push_back({.name = "bias",
                   .shape = {channels * spec.depth_multiplier},
                   .initializer = spec.bias_initializer,
                   .regularizer = spec.bias_regularizer});
  return all;
}

config::Node keras(const Spec& spec, std::span<const Shape>) {
  return keras_object({{"kernel_size", keras_size(spec.kernel_size)},
                       {"strides", keras_size(spec.strides)},
                       {"padding", keras_padding(spec.padding)},
                       {"depth_multiplier", config::Node::integer(spec.depth_multiplier)},
                       {"data_format", keras_channels_last()},
                       {"dilation_rate", keras_size(spec.dilation_rate)},
                       {"activation", keras_activation(spec.activation)},
                       {"use_bias", config::Node::boolean(spec.use_bias)},
                       {"depthwise_initializer", keras_initializer(spec.depthwise_initializer)},
                       {"bias_initializer", keras_initializer(spec.bias_initializer)},
                       {"depthwise_regularizer", keras_regularizer(spec.depthwise_regularizer)},
                       {"bias_regularizer", keras_regularizer(spec.bias_regularizer)},
                       {"activity_regularizer", {}},
                       {"depthwise_constraint", {}},
                       {"bias_constraint", {}}});
}

const Registered kDepthwiseConv2D =
    layer<Spec>("DepthwiseConv2D")
        .positional(key("kernel_size", &Spec::kernel_size).required().at_least(1).check(Bounded{}))
        .key(key("strides", &Spec::strides).at_least(1).check(Bounded{}))
        .key(key("padding", &Spec::padding))
        .key(key("depth_multiplier", &Spec::depth_multiplier).at_least(1).check(Bounded{}))
        .key(key("dilation_rate", &Spec::dilation_rate).at_least(1).check(Bounded{}))
        .activation(&Spec::activation)
        .key(key("use_bias", &Spec::use_bias))
        .key(key("depthwise_initializer", &Spec::depthwise_initializer))
        .key(key("bias_initializer", &Spec::bias_initializer))
        .key(key("depthwise_regularizer", &Spec::depthwise_regularizer))
        .key(key("bias_regularizer", &Spec::bias_regularizer))
        .inputs(1)
        .of_rank(3)
        .output(output)
        .weights(weights)
        .backward_reads([](const Spec& spec) {
          return BackwardReads{.output = spec.activation != Activation::kLinear, .input_to_train = true};
        })
        .keras(keras);

}  // namespace
}  // namespace dptrain::layers
