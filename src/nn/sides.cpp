#include "nn/sides.h"

#include <algorithm>

#include "config/json_fragment.h"
#include "config/reader.h"
#include "nn/geometry.h"

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
