#include "nn/conv1d_transpose.h"

#include "nn/conv2d_transpose.h"
#include "nn/kernels_and_bias.h"

namespace dptrain::nn {
namespace {

const KernelsAndBias<Conv1DTransposeSpec> kConv1DTransposeKernels({{"kernel", &Conv1DTransposeSpec::kernel_initializer,
                                                                    &Conv1DTransposeSpec::kernel_regularizer}});

Conv2DTransposeSpec image_of(const Conv1DTransposeSpec& spec) {
  auto image = over_images<Conv2DTransposeSpec>(spec);
  image.filters = spec.filters;
  image.padding = spec.padding;
  // Of the height it is 0: a height of 1 stays 1 with any padding.
  if (spec.output_padding) image.output_padding = Size2{0, spec.output_padding->n};
  return image;
}

Shape output(const Conv1DTransposeSpec& spec, std::span<const Shape> in) {
  refuse_strided_dilation(along(spec.strides), along(spec.dilation_rate));
  return {transposed_extents(image_of(spec), with_height(in[0])).w, spec.filters};
}

std::vector<WeightDef> weights(const Conv1DTransposeSpec& spec, std::span<const Shape> in) {
  const Shape kernel{spec.kernel_size.n, spec.filters, in[0][1]};
  return kConv1DTransposeKernels.weights(spec, {kernel}, spec.filters);
}

const Registered kConv1DTranspose =
    kConv1DTransposeKernels
        .add_to(
            layer<Conv1DTransposeSpec>("Conv1DTranspose")
                .positional(key("filters", &Conv1DTransposeSpec::filters).required().at_least(1).check(Bounded{}))
                .key(
                    key("kernel_size", &Conv1DTransposeSpec::kernel_size).required().at_least(1).check(BoundedExtent{}))
                .key(key("strides", &Conv1DTransposeSpec::strides).at_least(1).check(BoundedExtent{}))
                .key(key("padding", &Conv1DTransposeSpec::padding))
                .key(key("output_padding", &Conv1DTransposeSpec::output_padding).at_least(0).check(BoundedExtent{}))
                .key(key("dilation_rate", &Conv1DTransposeSpec::dilation_rate).at_least(1).check(BoundedExtent{})))
        .inputs(1)
        .of_rank(2)
        .output(output)
        .weights(weights)
        .computed_as(image_of);

}  // namespace
}  // namespace dptrain::nn
