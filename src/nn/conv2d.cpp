#include "nn/conv2d.h"

#include "nn/kernels_and_bias.h"

namespace dptrain::nn {
namespace {

const KernelsAndBias<Conv2DSpec> kConv2DKernels({{"kernel", &Conv2DSpec::kernel_initializer,
                                                  &Conv2DSpec::kernel_regularizer}});

Shape output(const Conv2DSpec& spec, std::span<const Shape> in) {
  check_groups(spec.groups, in[0][2], spec.filters);
  refuse_strided_dilation(spec.strides, spec.dilation_rate);
  const Window w = window(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  return {w.h.out, w.w.out, spec.filters};
}

std::vector<WeightDef> weights(const Conv2DSpec& spec, std::span<const Shape> in) {
  const Shape kernel{spec.kernel_size.h, spec.kernel_size.w, in[0][2] / spec.groups, spec.filters};
  return kConv2DKernels.weights(spec, {kernel}, spec.filters);
}

const Registered kConv2D =
    kConv2DKernels
        .add_to(layer<Conv2DSpec>("Conv2D")
                    .positional(key("filters", &Conv2DSpec::filters).required().at_least(1).check(Bounded{}))
                    .key(key("kernel_size", &Conv2DSpec::kernel_size).required().at_least(1).check(Bounded{}))
                    .key(key("strides", &Conv2DSpec::strides).at_least(1).check(Bounded{}))
                    .key(key("padding", &Conv2DSpec::padding))
                    .key(key("dilation_rate", &Conv2DSpec::dilation_rate).at_least(1).check(Bounded{}))
                    .key(key("groups", &Conv2DSpec::groups).at_least(1)))
        .inputs(1)
        .of_rank(3)
        .output(output)
        .weights(weights);

}  // namespace
}  // namespace dptrain::nn
