#include "nn/geometry.h"

#include <algorithm>

#include "config/json_fragment.h"
#include "config/reader.h"
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

namespace dptrain::config {
namespace {

using nn::Ends;
using nn::Sides;

/// n for both ends, or [first, second].
bool read_ends(const Node& node, Reader& reader, std::int64_t& first, std::int64_t& second) {
  const bool both = node.is_sequence() && node.items().size() == 2;
  const auto a = reader.integer(both ? node.items()[0] : node);
  const auto b = both ? reader.integer(node.items()[1]) : a;
  first = a.value_or(0);
  second = b.value_or(0);
  return a && b;
}

Node pair(std::int64_t first, std::int64_t second) {
  return Node::sequence({Node::integer(first), Node::integer(second)});
}

}  // namespace

bool Value<Sides>::read(const Node& raw, Reader& reader, Sides& out) {
  const Node node = reader.substituted(raw);
  if (!node.is_sequence()) {
    if (!read_ends(node, reader, out.top, out.bottom)) return false;
    out.left = out.right = out.top;
    return true;
  }
  if (node.items().size() != 2)
    return reader.expected(node, "n, [height, width] or [[top, bottom], [left, right]]"), false;
  const bool rows = read_ends(node.items()[0], reader, out.top, out.bottom);
  return read_ends(node.items()[1], reader, out.left, out.right) && rows;
}

Node Value<Sides>::write(const Sides& sides) {
  if (sides.top != sides.bottom || sides.left != sides.right)
    return Node::sequence({pair(sides.top, sides.bottom), pair(sides.left, sides.right)});
  return sides.top == sides.left ? Node::integer(sides.top) : pair(sides.top, sides.left);
}

Node Value<Sides>::schema() {
  const Node number = Value<std::int64_t>::schema();
  return fragment::any_of({number, fragment::list(fragment::any_of({number, fragment::list(number)}))});
}

bool Value<Ends>::read(const Node& raw, Reader& reader, Ends& out) {
  const Node node = reader.substituted(raw);
  if (node.is_sequence() && node.items().size() != 2) return reader.expected(node, "n or [before, after]"), false;
  return read_ends(node, reader, out.before, out.after);
}

Node Value<Ends>::write(const Ends& ends) {
  return ends.before == ends.after ? Node::integer(ends.before) : pair(ends.before, ends.after);
}

Node Value<Ends>::schema() {
  const Node number = Value<std::int64_t>::schema();
  return fragment::any_of({number, fragment::list(number)});
}

}  // namespace dptrain::config

namespace dptrain::nn {

std::string BoundedSides::operator()(const Sides& sides) const {
  return Bounded{}(std::max({sides.top, sides.bottom, sides.left, sides.right}));
}

std::string BoundedSides::operator()(const Ends& ends) const { return Bounded{}(std::max(ends.before, ends.after)); }

}  // namespace dptrain::nn

namespace dptrain::config {

bool Value<nn::Extent>::read(const Node& raw, Reader& reader, nn::Extent& out) {
  const Node node = reader.substituted(raw);
  if (!node.is_sequence()) return Value<std::int64_t>::read(node, reader, out.n);
  if (node.items().size() != 1) return reader.expected(node, "n or [n]"), false;
  return Value<std::int64_t>::read(node.items()[0], reader, out.n);
}

Node Value<nn::Extent>::write(const nn::Extent& extent) { return Node::integer(extent.n); }

Node Value<nn::Extent>::schema() {
  const Node number = Value<std::int64_t>::schema();
  return fragment::any_of({number, fragment::list(number)});
}

}  // namespace dptrain::config

namespace dptrain::nn {

std::int64_t windows(const Shape& in, Extent kernel, Extent stride, Extent dilation, Padding padding) {
  const std::int64_t out = window_axis(in[0], kernel.n, stride.n, dilation.n, padding).out;
  if (out < 1)
    throw LayerError(
        fmt::format("window {} is larger than the {} steps of {{0}}", (kernel.n - 1) * dilation.n + 1, in[0]));
  return out;
}

}  // namespace dptrain::nn

namespace dptrain::config {

using nn::Ends;
using nn::Size3;
using nn::VolumeSides;

bool Value<Size3>::read(const Node& raw, Reader& reader, Size3& out) {
  const Node node = reader.substituted(raw);
  if (node.is_scalar()) {
    if (!Value<std::int64_t>::read(node, reader, out.d)) return false;
    out.h = out.w = out.d;
    return true;
  }
  if (!node.is_sequence() || node.items().size() != 3)
    return reader.expected(node, "an integer or [depth, height, width]"), false;
  Shape shape;
  if (!Value<Shape>::read(node, reader, shape)) return false;
  out = {shape[0], shape[1], shape[2]};
  return true;
}

Node Value<Size3>::write(const Size3& size) {
  return Node::sequence({Node::integer(size.d), Node::integer(size.h), Node::integer(size.w)});
}

Node Value<Size3>::schema() {
  const Node number = Value<std::int64_t>::schema();
  return fragment::any_of({number, fragment::list(number)});
}

bool Value<VolumeSides>::read(const Node& raw, Reader& reader, VolumeSides& out) {
  const Node node = reader.substituted(raw);
  if (!node.is_sequence()) {
    if (!Value<Ends>::read(node, reader, out.depth)) return false;
    out.height = out.width = out.depth;
    return true;
  }
  if (node.items().size() != 3)
    return reader.expected(node, "n, [depth, height, width] or [[before, after], [top, bottom], [left, right]]"), false;
  bool good = true;
  Ends* const axes[] = {&out.depth, &out.height, &out.width};
  for (std::size_t i = 0; i < 3; ++i) good = Value<Ends>::read(node.items()[i], reader, *axes[i]) && good;
  return good;
}

Node Value<VolumeSides>::write(const VolumeSides& sides) {
  return Node::sequence(
      {Value<Ends>::write(sides.depth), Value<Ends>::write(sides.height), Value<Ends>::write(sides.width)});
}

Node Value<VolumeSides>::schema() {
  const Node number = Value<std::int64_t>::schema();
  return fragment::any_of({number, fragment::list(Value<Ends>::schema())});
}

}  // namespace dptrain::config

namespace dptrain::nn {

std::string BoundedVolume::operator()(const VolumeSides& sides) const {
  for (const Ends& ends : {sides.depth, sides.height, sides.width})
    if (std::string complaint = BoundedSides{}(ends); !complaint.empty()) return complaint;
  return "";
}

Shape volume_windows(const Shape& in, Size3 kernel, Size3 strides, Size3 dilation, Padding padding,
                     std::int64_t channels) {
  const Shape out{window_axis(in[0], kernel.d, strides.d, dilation.d, padding).out,
                  window_axis(in[1], kernel.h, strides.h, dilation.h, padding).out,
                  window_axis(in[2], kernel.w, strides.w, dilation.w, padding).out, channels};
  if (std::min({out[0], out[1], out[2]}) < 1)
    throw LayerError(fmt::format("window {}x{}x{} is larger than the input {}x{}x{}", (kernel.d - 1) * dilation.d + 1,
                                 (kernel.h - 1) * dilation.h + 1, (kernel.w - 1) * dilation.w + 1, in[0], in[1],
                                 in[2]));
  return out;
}

void refuse_strided_dilation(Size3 strides, Size3 dilation) {
  refuse_strided_dilation(Size2{strides.d, std::max(strides.h, strides.w)},
                          Size2{dilation.d, std::max(dilation.h, dilation.w)});
}

}  // namespace dptrain::nn
