#include "layers/conv2d.h"

#include "core/format.h"
#include "layers/keras_export.h"
#include "layers/layer.h"

namespace dptrain::layers {
namespace {

Shape output(const Conv2DSpec& spec, std::span<const Shape> in) {
  const std::int64_t channels = in[0][2];
  if (channels % spec.groups != 0)
    throw LayerError(fmt::format("groups {} do not divide the input's {} channels", spec.groups, channels));
  if (spec.filters % spec.groups != 0)
    throw LayerError(fmt::format("groups {} do not divide filters {}", spec.groups, spec.filters));
  refuse_strided_dilation(spec.strides, spec.dilation_rate);
  const Window w = window(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  return {w.h.out, w.w.out, spec.filters};
}

std::vector<WeightDef> weights(const Conv2DSpec& spec, std::span<const Shape> in) {
  const Shape kernel{spec.kernel_size.h, spec.kernel_size.w, in[0][2] / spec.groups, spec.filters};
  std::vector<WeightDef> all{{.name = "kernel",
                              .shape = kernel,
                              .initializer = spec.kernel_initializer,
                              .regularizer = spec.kernel_regularizer}};
  if (spec.use_bias)
    all.push_back({.name = "bias",
                   .shape = {spec.filters},
                   .initializer = spec.bias_initializer,
                   .regularizer = spec.bias_regularizer});
  return all;
}

config::Node keras(const Conv2DSpec& spec, std::span<const Shape>) {
  return keras_object({{"filters", config::Node::integer(spec.filters)},
                       {"kernel_size", keras_size(spec.kernel_size)},
                       {"strides", keras_size(spec.strides)},
                       {"padding", keras_padding(spec.padding)},
                       {"data_format", keras_channels_last()},
                       {"dilation_rate", keras_size(spec.dilation_rate)},
                       {"groups", config::Node::integer(spec.groups)},
                       {"activation", keras_activation(spec.activation)},
                       {"use_bias", config::Node::boolean(spec.use_bias)},
                       {"kernel_initializer", keras_initializer(spec.kernel_initializer)},
                       {"bias_initializer", keras_initializer(spec.bias_initializer)},
                       {"kernel_regularizer", keras_regularizer(spec.kernel_regularizer)},
                       {"bias_regularizer", keras_regularizer(spec.bias_regularizer)},
                       {"activity_regularizer", {}},
                       {"kernel_constraint", {}},
                       {"bias_constraint", {}}});
}

const Registered kConv2D =
    layer<Conv2DSpec>("Conv2D")
        .positional(key("filters", &Conv2DSpec::filters).required().at_least(1).check(Bounded{}))
        .key(key("kernel_size", &Conv2DSpec::kernel_size).required().at_least(1).check(Bounded{}))
        .key(key("strides", &Conv2DSpec::strides).at_least(1).check(Bounded{}))
        .key(key("padding", &Conv2DSpec::padding))
        .key(key("dilation_rate", &Conv2DSpec::dilation_rate).at_least(1).check(Bounded{}))
        .key(key("groups", &Conv2DSpec::groups).at_least(1))
        .activation(&Conv2DSpec::activation)
        .key(key("use_bias", &Conv2DSpec::use_bias))
        .key(key("kernel_initializer", &Conv2DSpec::kernel_initializer))
        .key(key("bias_initializer", &Conv2DSpec::bias_initializer))
        .key(key("kernel_regularizer", &Conv2DSpec::kernel_regularizer))
        .key(key("bias_regularizer", &Conv2DSpec::bias_regularizer))
        .inputs(1)
        .of_rank(3)
        .output(output)
        .weights(weights)
        .backward_reads([](const Conv2DSpec& spec) {
          return BackwardReads{.output = spec.activation != Activation::kLinear, .input_to_train = true};
        })
        .keras(keras);

}  // namespace
}  // namespace dptrain::layers
