#include "nn/geometry.h"

#include "config/json_fragment.h"
#include "config/reader.h"
#include "core/format.h"
#include "core/text.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

std::int64_t effective(std::int64_t kernel, std::int64_t dilation) { return (kernel - 1) * dilation + 1; }

/// "4x6x5" for the first `rank` numbers.
std::string product_text(const Axes& numbers, std::size_t rank) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < rank; ++i) words.push_back(std::to_string(numbers[i]));
  return join(words, "x");
}

}  // namespace

std::string shape_text(int rank, const std::string& mark, const std::string& channels) {
  static constexpr const char* kAxes[] = {"D", "H", "W"};
  std::string text = "[";
  for (int axis = 3 - rank; axis < 3; ++axis) text += (rank == 1 ? "steps" : kAxes[axis]) + mark + ", ";
  return text + channels + "]";
}

std::string ExtentCheck::operator()(std::int64_t extent) const {
  return extent <= kMaxExtent ? "" : fmt::format("must be <= {}, found {}", kMaxExtent, extent);
}

std::string ExtentCheck::operator()(const Shape& shape) const {
  for (const std::int64_t extent : shape.dims())
    if (extent > kMaxExtent) return (*this)(extent);
  return "";
}

std::string ExtentCheck::operator()(const Margins3D& sides) const {
  for (const Margins1D& ends : {sides.depth, sides.height, sides.width})
    if (std::string error = (*this)(ends); !error.empty()) return error;
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

Shape window_shape(const Shape& in, const Axes& kernel, const Axes& strides, const Axes& dilation, Padding padding,
                   std::int64_t channels) {
  const std::size_t rank = kernel.size();
  Axes out, extents;
  for (std::size_t i = 0; i < rank; ++i) {
    out.push_back(window_axis(in.dims()[i], kernel[i], strides[i], dilation[i], padding).out);
    extents.push_back(effective(kernel[i], dilation[i]));
  }
  if (std::ranges::min(out) >= 1) return joined(std::move(out), {channels});
  if (rank == 1) throw LayerError(fmt::format("window {} is larger than the {} steps of {{0}}", extents[0], in[0]));
  constexpr std::int64_t kMaxColors = 4;
  const bool channels_first = rank == 2 && in.rank() == 3 && in[0] <= kMaxColors && in[0] < in[1] && in[1] == in[2];
  throw LayerError(fmt::format(
      "window {} is larger than the input {}{}", product_text(extents, rank), product_text(in.dims(), rank),
      channels_first ? fmt::format("; channels come last: did you mean [{}, {}, {}]?", in[1], in[2], in[0]) : ""));
}

Window window(const Shape& in, Size2 kernel, Size2 strides, Size2 dilation, Padding padding) {
  window_shape(in, axes(kernel), axes(strides), axes(dilation), padding, 1);  // throws if none fits
  return {window_axis(in[0], kernel.h, strides.h, dilation.h, padding),
          window_axis(in[1], kernel.w, strides.w, dilation.w, padding)};
}

void refuse_strided_dilation(const Axes& strides, const Axes& dilation) {
  if (std::ranges::max(strides) > 1 && std::ranges::max(dilation) > 1)
    throw LayerError("strides > 1 cannot be combined with dilation_rate > 1");
}

void require_last_axis(std::int64_t axis, const Shape& in) {
  if (in.rank() == 0 || (axis != -1 && axis != in.rank()))
    throw LayerError(fmt::format("axis {} is not supported: only the last axis is, -1 or {}", axis, in.rank()));
}

Shape joined(Axes leading, const Axes& trailing) {
  leading.insert(leading.end(), trailing.begin(), trailing.end());
  return Shape(std::move(leading));
}

}  // namespace dptrain::nn

namespace dptrain::config {
namespace {

using nn::Extent;
using nn::Margins1D;
using nn::Margins2D;
using nn::Margins3D;
using nn::Size3;

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

/// A value, or a list of them.
Node one_or_list(const Node& item) { return fragment::any_of({Value<std::int64_t>::schema(), fragment::list(item)}); }

}  // namespace

bool Value<Extent>::read(const Node& raw, Reader& reader, Extent& out) {
  const Node node = reader.substituted(raw);
  if (!node.is_sequence()) return Value<std::int64_t>::read(node, reader, out.n);
  if (node.items().size() != 1) return reader.expected(node, "n or [n]"), false;
  return Value<std::int64_t>::read(node.items()[0], reader, out.n);
}

Node Value<Extent>::write(const Extent& extent) { return Node::integer(extent.n); }

Node Value<Extent>::schema() { return one_or_list(Value<std::int64_t>::schema()); }

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

Node Value<Size3>::schema() { return one_or_list(Value<std::int64_t>::schema()); }

bool Value<Margins1D>::read(const Node& raw, Reader& reader, Margins1D& out) {
  const Node node = reader.substituted(raw);
  if (node.is_sequence() && node.items().size() != 2) return reader.expected(node, "n or [before, after]"), false;
  return read_ends(node, reader, out.before, out.after);
}

Node Value<Margins1D>::write(const Margins1D& ends) {
  return ends.before == ends.after ? Node::integer(ends.before) : pair(ends.before, ends.after);
}

Node Value<Margins1D>::schema() { return one_or_list(Value<std::int64_t>::schema()); }

bool Value<Margins2D>::read(const Node& raw, Reader& reader, Margins2D& out) {
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

Node Value<Margins2D>::write(const Margins2D& sides) {
  if (sides.top != sides.bottom || sides.left != sides.right)
    return Node::sequence({pair(sides.top, sides.bottom), pair(sides.left, sides.right)});
  return sides.top == sides.left ? Node::integer(sides.top) : pair(sides.top, sides.left);
}

Node Value<Margins2D>::schema() { return one_or_list(Value<Margins1D>::schema()); }

bool Value<Margins3D>::read(const Node& raw, Reader& reader, Margins3D& out) {
  const Node node = reader.substituted(raw);
  if (!node.is_sequence()) {
    if (!Value<Margins1D>::read(node, reader, out.depth)) return false;
    out.height = out.width = out.depth;
    return true;
  }
  if (node.items().size() != 3)
    return reader.expected(node, "n, [depth, height, width] or [[before, after], [top, bottom], [left, right]]"), false;
  bool good = true;
  Margins1D* const all[] = {&out.depth, &out.height, &out.width};
  for (std::size_t i = 0; i < 3; ++i) good = Value<Margins1D>::read(node.items()[i], reader, *all[i]) && good;
  return good;
}

Node Value<Margins3D>::write(const Margins3D& sides) {
  return Node::sequence({Value<Margins1D>::write(sides.depth), Value<Margins1D>::write(sides.height),
                         Value<Margins1D>::write(sides.width)});
}

Node Value<Margins3D>::schema() { return one_or_list(Value<Margins1D>::schema()); }

}  // namespace dptrain::config
