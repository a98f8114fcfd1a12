#include "nn/conv1d.h"

#include "nn/conv2d.h"
#include "nn/kernels_and_bias.h"

namespace dptrain::nn {
namespace {

const KernelsAndBias<Conv1DSpec> kConv1DKernels({{"kernel", &Conv1DSpec::kernel_initializer,
                                                  &Conv1DSpec::kernel_regularizer}});

Padding padding_of(StepsPadding padding) {
  switch (padding) {
    case StepsPadding::kValid: return Padding::kValid;
    case StepsPadding::kSame: return Padding::kSame;
    case StepsPadding::kCausal: return Padding::kCausal;
  }
  return {};
}

Conv2DSpec image_of(const Conv1DSpec& spec) {
  auto image = over_images<Conv2DSpec>(spec);
  image.filters = spec.filters;
  image.padding = padding_of(spec.padding);
  image.groups = spec.groups;
  return image;
}

Shape output(const Conv1DSpec& spec, std::span<const Shape> in) {
  check_groups(spec.groups, in[0][1], spec.filters);
  refuse_strided_dilation(along(spec.strides), along(spec.dilation_rate));
  return {windows(in[0], spec.kernel_size, spec.strides, spec.dilation_rate, padding_of(spec.padding)), spec.filters};
}

std::vector<WeightDef> weights(const Conv1DSpec& spec, std::span<const Shape> in) {
  const Shape kernel{spec.kernel_size.n, in[0][1] / spec.groups, spec.filters};
  return kConv1DKernels.weights(spec, {kernel}, spec.filters);
}

const Registered kConv1D =
    kConv1DKernels
        .add_to(layer<Conv1DSpec>("Conv1D")
                    .positional(key("filters", &Conv1DSpec::filters).required().at_least(1).check(Bounded{}))
                    .key(key("kernel_size", &Conv1DSpec::kernel_size).required().at_least(1).check(BoundedExtent{}))
                    .key(key("strides", &Conv1DSpec::strides).at_least(1).check(BoundedExtent{}))
                    .key(key("padding", &Conv1DSpec::padding))
                    .key(key("dilation_rate", &Conv1DSpec::dilation_rate).at_least(1).check(BoundedExtent{}))
                    .key(key("groups", &Conv1DSpec::groups).at_least(1)))
        .inputs(1)
        .of_rank(2)
        .output(output)
        .weights(weights)
        .computed_as(image_of);

}  // namespace
}  // namespace dptrain::nn
