#include "nn/conv3d_transpose.h"

#include "nn/conv2d_transpose.h"
#include "nn/kernels_and_bias.h"

namespace dptrain::nn {
namespace {

const KernelsAndBias<Conv3DTransposeSpec> kConv3DTransposeKernels({{"kernel", &Conv3DTransposeSpec::kernel_initializer,
                                                                    &Conv3DTransposeSpec::kernel_regularizer}});

Shape output(const Conv3DTransposeSpec& spec, std::span<const Shape> in) {
  refuse_strided_dilation(spec.strides, spec.dilation_rate);
  const auto of = [&](int axis, std::int64_t Size3::*side) {
    return transposed_extent(
        {.in = in[0][axis],
         .kernel = spec.kernel_size.*side,
         .stride = spec.strides.*side,
         .dilation = spec.dilation_rate.*side,
         .padding = spec.padding,
         .extra = spec.output_padding ? std::optional((*spec.output_padding).*side) : std::nullopt});
  };
  return {of(0, &Size3::d), of(1, &Size3::h), of(2, &Size3::w), spec.filters};
}

std::vector<WeightDef> weights(const Conv3DTransposeSpec& spec, std::span<const Shape> in) {
  const Size3& k = spec.kernel_size;
  return kConv3DTransposeKernels.weights(spec, {{k.d, k.h, k.w, spec.filters, in[0][3]}}, spec.filters);
}

const Registered kConv3DTranspose =
    kConv3DTransposeKernels
        .add_to(
            layer<Conv3DTransposeSpec>("Conv3DTranspose")
                .positional(key("filters", &Conv3DTransposeSpec::filters).required().at_least(1).check(Bounded{}))
                .key(
                    key("kernel_size", &Conv3DTransposeSpec::kernel_size).required().at_least(1).check(BoundedVolume{}))
                .key(key("strides", &Conv3DTransposeSpec::strides).at_least(1).check(BoundedVolume{}))
                .key(key("padding", &Conv3DTransposeSpec::padding))
                .key(key("output_padding", &Conv3DTransposeSpec::output_padding).at_least(0).check(BoundedVolume{}))
                .key(key("dilation_rate", &Conv3DTransposeSpec::dilation_rate).at_least(1).check(BoundedVolume{})))
        .inputs(1)
        .of_rank(4)
        .output(output)
        .weights(weights);

}  // namespace
}  // namespace dptrain::nn
