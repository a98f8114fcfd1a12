#include "nn/geometry.h"

#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

std::int64_t effective(std::int64_t kernel, std::int64_t dilation) { return (kernel - 1) * dilation + 1; }

}  // namespace

std::string Bounded::operator()(std::int64_t extent) const {
  return extent <= kMaxExtent ? "" : fmt::format("must be <= {}, found {}", kMaxExtent, extent);
}

std::string Bounded::operator()(const Shape& shape) const {
  for (const std::int64_t extent : shape.dims())
    if (extent > kMaxExtent) return (*this)(extent);
  return "";
}

WindowAxis window_axis(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                       Padding padding) {
  const std::int64_t extent = effective(kernel, dilation);
  if (padding == Padding::kValid) return {.out = in < extent ? 0 : (in - extent) / stride + 1};
  const std::int64_t out = (in + stride - 1) / stride;
  if (padding == Padding::kCausal) return {.out = out, .pad_before = extent - 1};
  const std::int64_t total = std::max<std::int64_t>((out - 1) * stride + extent - in, 0);
  return {.out = out, .pad_before = total / 2, .pad_after = total - total / 2};
}

Window window(const Shape& in, Size2 kernel, Size2 strides, Size2 dilation, Padding padding) {
  const Window window{window_axis(in[0], kernel.h, strides.h, dilation.h, padding),
                      window_axis(in[1], kernel.w, strides.w, dilation.w, padding)};
  if (window.h.out < 1 || window.w.out < 1) {
    constexpr std::int64_t kMostColors = 4;
    const bool channels_first = in.rank() == 3 && in[0] <= kMostColors && in[0] < in[1] && in[1] == in[2];
    throw LayerError(fmt::format(
        "window {}x{} is larger than the input {}x{}{}", effective(kernel.h, dilation.h),
        effective(kernel.w, dilation.w), in[0], in[1],
        channels_first ? fmt::format("; channels come last: did you mean [{}, {}, {}]?", in[1], in[2], in[0]) : ""));
  }
  return window;
}

void refuse_strided_dilation(Size2 strides, Size2 dilation) {
  if (std::max(strides.h, strides.w) > 1 && std::max(dilation.h, dilation.w) > 1)
    throw LayerError("strides > 1 cannot be combined with dilation_rate > 1");
}

Shape depthwise_output(const Shape& in, Size2 kernel, Size2 strides, Size2 dilation, Padding padding,
                       std::int64_t multiplier) {
  refuse_strided_dilation(strides, dilation);
  const Window w = window(in, kernel, strides, dilation, padding);
  return {w.h.out, w.w.out, multiplied_channels(in[2], multiplier)};
}

void check_groups(std::int64_t groups, std::int64_t channels, std::int64_t filters) {
  if (channels % groups != 0)
    throw LayerError(fmt::format("groups {} do not divide the input's {} channels", groups, channels));
  if (filters % groups != 0) throw LayerError(fmt::format("groups {} do not divide filters {}", groups, filters));
}

std::int64_t multiplied_channels(std::int64_t channels, std::int64_t multiplier) {
  const std::int64_t product = channels * multiplier;
  if (product > kMaxExtent)
    throw LayerError(fmt::format("depth_multiplier {} makes {} channels of {}, more than {}", multiplier, product,
                                 channels, kMaxExtent));
  return product;
}

Shape pooled(const Shape& in, Size2 pool_size, Size2 strides, Padding padding) {
  const Window w = window(in, pool_size, strides, {1, 1}, padding);
  return {w.h.out, w.w.out, in[2]};
}

}  // namespace dptrain::nn
