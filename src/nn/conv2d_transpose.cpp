#include "nn/conv2d_transpose.h"

#include "core/format.h"
#include "nn/kernels_and_bias.h"

namespace dptrain::nn {
namespace {

const KernelsAndBias<Conv2DTransposeSpec> kConv2DTransposeKernels({{"kernel", &Conv2DTransposeSpec::kernel_initializer,
                                                                    &Conv2DTransposeSpec::kernel_regularizer}});

std::int64_t extent(const TransposedAxis& a) {
  const std::int64_t window = (a.kernel - 1) * a.dilation + 1;
  if (!a.extra)
    return a.in * a.stride + (a.padding == Padding::kSame ? 0 : std::max<std::int64_t>(window - a.stride, 0));
  return (a.in - 1) * a.stride + (a.padding == Padding::kSame ? window % 2 : window) + *a.extra;
}

Shape output(const Conv2DTransposeSpec& spec, std::span<const Shape> in) {
  refuse_strided_dilation(spec.strides, spec.dilation_rate);
  const Size2 out = transposed_extents(spec, in[0]);
  return {out.h, out.w, spec.filters};
}

std::vector<WeightDef> weights(const Conv2DTransposeSpec& spec, std::span<const Shape> in) {
  const Shape kernel{spec.kernel_size.h, spec.kernel_size.w, spec.filters, in[0][2]};
  return kConv2DTransposeKernels.weights(spec, {kernel}, spec.filters);
}

const Registered kConv2DTranspose =
    kConv2DTransposeKernels
        .add_to(layer<Conv2DTransposeSpec>("Conv2DTranspose")
                    .positional(key("filters", &Conv2DTransposeSpec::filters).required().at_least(1).check(Bounded{}))
                    .key(key("kernel_size", &Conv2DTransposeSpec::kernel_size).required().at_least(1).check(Bounded{}))
                    .key(key("strides", &Conv2DTransposeSpec::strides).at_least(1).check(Bounded{}))
                    .key(key("padding", &Conv2DTransposeSpec::padding))
                    .key(key("output_padding", &Conv2DTransposeSpec::output_padding).at_least(0).check(Bounded{}))
                    .key(key("dilation_rate", &Conv2DTransposeSpec::dilation_rate).at_least(1).check(Bounded{})))
        .inputs(1)
        .of_rank(3)
        .output(output)
        .weights(weights);

}  // namespace

std::int64_t transposed_extent(const TransposedAxis& a) {
  if (a.extra && *a.extra >= a.stride)
    throw LayerError(fmt::format("output_padding {} must be smaller than the stride {}", *a.extra, a.stride));
  const std::int64_t out = extent(a);
  if (out > kMaxExtent)
    throw LayerError(fmt::format("strides make an extent of {} from {}, more than {}", out, a.in, kMaxExtent));
  if (out < 1 || window_axis(out, a.kernel, a.stride, a.dilation, a.padding).out != a.in)
    throw LayerError(fmt::format(
        "output_padding {} with kernel {}, stride {} and padding {} gives an extent of {}, from which no convolution "
        "leads back to {}",
        a.extra.value_or(0), a.kernel, a.stride, config::Value<Padding>::write(a.padding).str(), out, a.in));
  return out;
}

Size2 transposed_extents(const Conv2DTransposeSpec& spec, const Shape& in) {
  const auto extra = [&](std::int64_t Size2::*side) {
    return spec.output_padding ? std::optional((*spec.output_padding).*side) : std::nullopt;
  };
  const auto of = [&](std::int64_t extent_in, std::int64_t Size2::*side) {
    return transposed_extent({.in = extent_in,
                              .kernel = spec.kernel_size.*side,
                              .stride = spec.strides.*side,
                              .dilation = spec.dilation_rate.*side,
                              .padding = spec.padding,
                              .extra = extra(side)});
  };
  return {of(in[0], &Size2::h), of(in[1], &Size2::w)};
}

}  // namespace dptrain::nn
