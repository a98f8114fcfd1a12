#include "nn/dot.h"

#include "config/json_fragment.h"
#include "config/reader.h"
#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::config {

using nn::DotAxes;

bool Value<DotAxes>::read(const Node& raw, Reader& reader, DotAxes& out) {
  const Node node = reader.substituted(raw);
  if (node.is_sequence() && node.items().size() != 2) return reader.expected(node, "an axis or [first, second]"), false;
  if (!node.is_sequence()) {
    if (!Value<std::int64_t>::read(node, reader, out.first)) return false;
    out.second = out.first;
    return true;
  }
  const bool first = Value<std::int64_t>::read(node.items()[0], reader, out.first);
  return Value<std::int64_t>::read(node.items()[1], reader, out.second) && first;
}

Node Value<DotAxes>::write(const DotAxes& axes) {
  if (axes.first == axes.second) return Node::integer(axes.first);
  return Node::sequence({Node::integer(axes.first), Node::integer(axes.second)});
}

Node Value<DotAxes>::schema() {
  const Node number = Value<std::int64_t>::schema();
  return fragment::any_of({number, fragment::list(number)});
}

}  // namespace dptrain::config

namespace dptrain::nn {
namespace {

Shape output(const DotSpec& spec, std::span<const Shape> in) {
  const DotOperand first = dot_operand(spec, in[0], 0), second = dot_operand(spec, in[1], 1);
  if (first.length != second.length)
    throw LayerError(
        fmt::format("{{0}} is {} and {{1}} {}: along axes {} and {} they have {} and {} values, expected as many",
                    in[0].str(), in[1].str(), spec.axes.first, spec.axes.second, first.length, second.length));
  std::vector<std::int64_t> extents;
  if (in[0].rank() == 2) extents.push_back(first.lines);
  if (in[1].rank() == 2) extents.push_back(second.lines);
  return extents.empty() ? Shape{1} : Shape(std::move(extents));
}

const Registered kDot =
    layer<DotSpec>("Dot")
        .positional(key("axes", &DotSpec::axes).required())
        .key(key("normalize", &DotSpec::normalize))
        .inputs(2)
        .output(output)
        .masks(MaskRule::kEnds)
        .backward_reads([](const DotSpec& spec) { return BackwardReads{.input = !spec.normalize}; });

}  // namespace

DotOperand dot_operand(const DotSpec& spec, const Shape& in, int which) {
  if (in.rank() != 1 && in.rank() != 2)
    throw LayerError(fmt::format("{{{}}} is {}, expected a vector or a matrix", which, in.str()));
  const std::int64_t named = which == 0 ? spec.axes.first : spec.axes.second;
  const std::int64_t axis = named < 0 ? named + in.rank() + 1 : named;
  if (axis < 1 || axis > in.rank())
    throw LayerError(fmt::format("axis {} is not one of {{{}}}, which is {}: 1 to {}, or -1 for the last", named, which,
                                 in.str(), in.rank()));
  if (in.rank() == 1) return {.length = in[0]};
  if (axis == 2) return {.lines = in[0], .length = in[1], .line_stride = in[1], .stride = 1};
  return {.lines = in[1], .length = in[0], .line_stride = 1, .stride = in[1]};
}

}  // namespace dptrain::nn
