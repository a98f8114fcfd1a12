#include "layers/conv2d.h"

#include "core/format.h"
#include "layers/kernels_and_bias.h"

namespace dptrain::layers {
namespace {

using Spec = Conv2DSpec;

const KernelsAndBias<Spec> kKernels({{"kernel", &Spec::kernel_initializer, &Spec::kernel_regularizer}});

Shape output(const Spec& spec, std::span<const Shape> in) {
  const std::int64_t channels = in[0][2];
  if (channels % spec.groups != 0)
    throw LayerError(fmt::format("groups {} do not divide the input's {} channels", spec.groups, channels));
  if (spec.filters % spec.groups != 0)
    throw LayerError(fmt::format("groups {} do not divide filters {}", spec.groups, spec.filters));
  refuse_strided_dilation(spec.strides, spec.dilation_rate);
  const Window w = window(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  return {w.h.out, w.w.out, spec.filters};
}

std::vector<WeightDef> weights(const Spec& spec, std::span<const Shape> in) {
  const Shape kernel{spec.kernel_size.h, spec.kernel_size.w, in[0][2] / spec.groups, spec.filters};
  return kKernels.weights(spec, {kernel}, spec.filters);
}

config::Node keras(const Spec& spec, std::span<const Shape>) {
  return kKernels.keras(spec, {{"filters", config::Node::integer(spec.filters)},
                               {"kernel_size", keras_size(spec.kernel_size)},
                               {"strides", keras_size(spec.strides)},
                               {"padding", keras_padding(spec.padding)},
                               {"data_format", keras_channels_last()},
                               {"dilation_rate", keras_size(spec.dilation_rate)},
                               {"groups", config::Node::integer(spec.groups)}});
}

const Registered kConv2D =
    kKernels
        .add_to(layer<Spec>("Conv2D")
                    .positional(key("filters", &Spec::filters).required().at_least(1).check(Bounded{}))
                    .key(key("kernel_size", &Spec::kernel_size).required().at_least(1).check(Bounded{}))
                    .key(key("strides", &Spec::strides).at_least(1).check(Bounded{}))
                    .key(key("padding", &Spec::padding))
                    .key(key("dilation_rate", &Spec::dilation_rate).at_least(1).check(Bounded{}))
                    .key(key("groups", &Spec::groups).at_least(1)))
        .inputs(1)
        .of_rank(3)
        .output(output)
        .weights(weights)
        .keras(keras);

}  // namespace
}  // namespace dptrain::layers
