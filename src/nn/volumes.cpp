#include "nn/volumes.h"

#include <algorithm>

#include "config/json_fragment.h"
#include "config/reader.h"
#include "core/format.h"
#include "nn/layer.h"

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
