#include "nn/conv3d.h"

#include "nn/kernels_and_bias.h"

namespace dptrain::nn {
namespace {

const KernelsAndBias<Conv3DSpec> kConv3DKernels({{"kernel", &Conv3DSpec::kernel_initializer,
                                                  &Conv3DSpec::kernel_regularizer}});

Shape output(const Conv3DSpec& spec, std::span<const Shape> in) {
  check_groups(spec.groups, in[0][3], spec.filters);
  refuse_strided_dilation(spec.strides, spec.dilation_rate);
  return volume_windows(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding, spec.filters);
}

std::vector<WeightDef> weights(const Conv3DSpec& spec, std::span<const Shape> in) {
  const Size3& k = spec.kernel_size;
  const Shape kernel{k.d, k.h, k.w, in[0][3] / spec.groups, spec.filters};
  return kConv3DKernels.weights(spec, {kernel}, spec.filters);
}

const Registered kConv3D =
    kConv3DKernels
        .add_to(layer<Conv3DSpec>("Conv3D")
                    .positional(key("filters", &Conv3DSpec::filters).required().at_least(1).check(Bounded{}))
                    .key(key("kernel_size", &Conv3DSpec::kernel_size).required().at_least(1).check(BoundedVolume{}))
                    .key(key("strides", &Conv3DSpec::strides).at_least(1).check(BoundedVolume{}))
                    .key(key("padding", &Conv3DSpec::padding))
                    .key(key("dilation_rate", &Conv3DSpec::dilation_rate).at_least(1).check(BoundedVolume{}))
                    .key(key("groups", &Conv3DSpec::groups).at_least(1)))
        .inputs(1)
        .of_rank(4)
        .output(output)
        .weights(weights);

}  // namespace
}  // namespace dptrain::nn
