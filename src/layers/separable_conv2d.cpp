#include "layers/separable_conv2d.h"

#include "layers/keras_export.h"
#include "layers/layer.h"

namespace dptrain::layers {
namespace {

using Spec = SeparableConv2DSpec;

Shape output(const Spec& spec, std::span<const Shape> in) {
  const Shape between =
      depthwise_output(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding, spec.depth_multiplier);
  return {between[0], between[1], spec.filters};
}

std::vector<WeightDef> weights(const Spec& spec, std::span<const Shape> in) {
  const std::int64_t channels = in[0][2];
  std::vector<WeightDef> all{{.name = "depthwise_kernel",
                              .shape = {spec.kernel_size.h, spec.kernel_size.w, channels, spec.depth_multiplier},
                              .initializer = spec.depthwise_initializer,
                              .regularizer = spec.depthwise_regularizer},
                             {.name = "pointwise_kernel",
                              .shape = {1, 1, channels * spec.depth_multiplier, spec.filters},
                              .initializer = spec.pointwise_initializer,
                              .regularizer = spec.pointwise_regularizer}};
  if (spec.use_bias)
    all.push_back({.name = "bias",
                   .shape = {spec.filters},
                   .initializer = spec.bias_initializer,
                   .regularizer = spec.bias_regularizer});
  return all;
}

config::Node keras(const Spec& spec, std::span<const Shape>) {
  return keras_object({{"filters", config::Node::integer(spec.filters)},
                       {"kernel_size", keras_size(spec.kernel_size)},
                       {"strides", keras_size(spec.strides)},
                       {"padding", keras_padding(spec.padding)},
                       {"data_format", keras_channels_last()},
                       {"dilation_rate", keras_size(spec.dilation_rate)},
                       {"depth_multiplier", config::Node::integer(spec.depth_multiplier)},
                       {"activation", keras_activation(spec.activation)},
                       {"use_bias", config::Node::boolean(spec.use_bias)},
                       {"depthwise_initializer", keras_initializer(spec.depthwise_initializer)},
                       {"pointwise_initializer", keras_initializer(spec.pointwise_initializer)},
                       {"bias_initializer", keras_initializer(spec.bias_initializer)},
                       {"depthwise_regularizer", keras_regularizer(spec.depthwise_regularizer)},
                       {"pointwise_regularizer", keras_regularizer(spec.pointwise_regularizer)},
                       {"bias_regularizer", keras_regularizer(spec.bias_regularizer)},
                       {"activity_regularizer", {}},
                       {"depthwise_constraint", {}},
                       {"pointwise_constraint", {}},
                       {"bias_constraint", {}}});
}

const Registered kSeparableConv2D =
    layer<Spec>("SeparableConv2D")
        .positional(key("filters", &Spec::filters).required().at_least(1).check(Bounded{}))
        .key(key("kernel_size", &Spec::kernel_size).required().at_least(1).check(Bounded{}))
        .key(key("strides", &Spec::strides).at_least(1).check(Bounded{}))
        .key(key("padding", &Spec::padding))
        .key(key("dilation_rate", &Spec::dilation_rate).at_least(1).check(Bounded{}))
        .key(key("depth_multiplier", &Spec::depth_multiplier).at_least(1).check(Bounded{}))
        .activation(&Spec::activation)
        .key(key("use_bias", &Spec::use_bias))
        .key(key("depthwise_initializer", &Spec::depthwise_initializer))
        .key(key("pointwise_initializer", &Spec::pointwise_initializer))
        .key(key("bias_initializer", &Spec::bias_initializer))
        .key(key("depthwise_regularizer", &Spec::depthwise_regularizer))
        .key(key("pointwise_regularizer", &Spec::pointwise_regularizer))
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
