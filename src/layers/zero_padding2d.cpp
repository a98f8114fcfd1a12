#include "layers/zero_padding2d.h"

#include <algorithm>

#include "config/json_fragment.h"
#include "layers/geometry.h"
#include "layers/keras_export.h"
#include "layers/layer.h"

namespace dptrain::config {
namespace {

using Sides = layers::ZeroPadding2DSpec::Sides;

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

}  // namespace dptrain::config

namespace dptrain::layers {
namespace {

const Registered kZeroPadding2D =
    layer<ZeroPadding2DSpec>("ZeroPadding2D")
        .positional(
            key("padding", &ZeroPadding2DSpec::padding).at_least(0).check([](const ZeroPadding2DSpec::Sides& p) {
              return Bounded{}(std::max({p.top, p.bottom, p.left, p.right}));
            }))
        .inputs(1)
        .of_rank(3)
        .output([](const ZeroPadding2DSpec& spec, std::span<const Shape> in) {
          const auto& p = spec.padding;
          return Shape{in[0][0] + p.top + p.bottom, in[0][1] + p.left + p.right, in[0][2]};
        })
        .keras([](const ZeroPadding2DSpec& spec, std::span<const Shape>) {
          const auto& p = spec.padding;
          return keras_object({{"padding", config::Node::sequence(
                                               {keras_extents({p.top, p.bottom}), keras_extents({p.left, p.right})})},
                               {"data_format", keras_channels_last()}});
        });

}  // namespace
}  // namespace dptrain::layers
