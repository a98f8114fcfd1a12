#include "nn/merging.h"

#include <algorithm>

#include "config/json_fragment.h"
#include "config/reader.h"
#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::nn {

std::string inputs_differ(std::span<const Shape> inputs) {
  std::string text = "inputs differ:";
  for (std::size_t i = 0; i < inputs.size(); ++i)
    text += fmt::format("{} {{{}}} is {}", i == 0 ? "" : ",", i, inputs[i].str());
  return text;
}

Shape broadcast(std::span<const Shape> inputs) {
  int rank = 0;
  for (const Shape& shape : inputs) rank = std::max(rank, shape.rank());
  std::vector<std::int64_t> dims(static_cast<std::size_t>(rank), 1);
  for (const Shape& shape : inputs) {
    const int missing = rank - shape.rank();
    for (int axis = 0; axis < shape.rank(); ++axis) {
      std::int64_t& common = dims[static_cast<std::size_t>(missing + axis)];
      if (common != shape[axis] && common != 1 && shape[axis] != 1) throw LayerError(inputs_differ(inputs));
      common = std::max(common, shape[axis]);
    }
  }
  return Shape(std::move(dims));
}

namespace {

/// Rule for ops that compute with the steps that are valid in all inputs. They support only inputs with the same steps.
MaskRule mask_of_equal_steps(std::span<const Shape> inputs) {
  const auto steps_of = [](const Shape& shape) { return std::span(shape.dims()).first(shape.dims().size() - 1); };
  const bool equal = std::ranges::all_of(inputs, [&](const Shape& shape) {
    return shape.rank() == inputs[0].rank() &&
           (shape.rank() == 0 || std::ranges::equal(steps_of(shape), steps_of(inputs[0])));
  });
  return equal ? MaskRule::kJoins : MaskRule::kUnsupported;
}

/// `what`: description of the result. `most`: maximum number of inputs; -1: no limit.
template <class Spec>
LayerBuilder<Spec> elementwise(const char* name, const std::string& what, int most = -1) {
  auto builder = layer<Spec>(name);
  builder.doc(fmt::format("two inputs{} -> {}; extents of 1 are broadcast", most == 2 ? "" : " or more", what))
      .inputs(2, most)
      .masks(MaskRule::kJoins)
      .output([](const Spec&, std::span<const Shape> in) { return broadcast(in); })
      .example("", {{7, 6, 4}, {7, 6, 4}})
      .example("", {{7, 6, 5}, {7, 6, 5}});
  return builder;
}

/// An elementwise layer whose op reads the masks and whose backward has these `reads`.
template <class Spec>
LayerBuilder<Spec> elementwise_of_valid_steps(const char* name, const std::string& what, BackwardReads reads) {
  auto builder = elementwise<Spec>(name, what);
  builder.masks([](const Spec&, std::span<const Shape> in) { return mask_of_equal_steps(in); })
      .uses_masks()
      .backward_reads(reads);
  return builder;
}

const Registered kAdd = elementwise<AddSpec>("Add", "their elementwise sum");
const Registered kAverage = elementwise<AverageSpec>("Average", "their elementwise mean");
const Registered kSubtract = elementwise<SubtractSpec>("Subtract", "first - second, elementwise", 2);
const Registered kMultiply =
    elementwise_of_valid_steps<MultiplySpec>("Multiply", "their elementwise product", {.input = true});
const Registered kMaximum = elementwise_of_valid_steps<MaximumSpec>(
    "Maximum", "their elementwise maximum; of equal values the first gets the gradient",
    {.input = true, .output = true});
const Registered kMinimum = elementwise_of_valid_steps<MinimumSpec>(
    "Minimum", "their elementwise minimum; of equal values the first gets the gradient",
    {.input = true, .output = true});

Shape output(const ConcatenateSpec& spec, std::span<const Shape> in) {
  const int rank = in[0].rank();
  // Keras counts the batch as axis 0; a sample's own axes start at 1.
  const int axis = spec.axis < 0 ? rank + spec.axis : spec.axis - 1;
  if (axis < 0 || axis >= rank)
    throw LayerError(
        fmt::format("axis {} is not one of the inputs' axes: -1 to -{}, or 1 to {}", spec.axis, rank, rank));
  std::vector<std::int64_t> dims = in[0].dims();
  std::int64_t& along = dims[static_cast<std::size_t>(axis)];
  for (const Shape& shape : in.subspan(1)) {
    if (shape.rank() != rank) throw LayerError(inputs_differ(in));
    for (int other = 0; other < rank; ++other)
      if (other != axis && shape[other] != in[0][other]) throw LayerError(inputs_differ(in));
    along += shape[axis];
  }
  return Shape(std::move(dims));
}

/// Along the features a step is valid if it is in any input. An input without a mask makes all steps valid (Keras's
/// any() of ones). Along the steps Keras concatenates the masks, which is not supported here.
MaskRule mask_rule(const ConcatenateSpec& spec, std::span<const Shape> in) {
  const bool features = spec.axis == -1 || spec.axis == in[0].rank();
  return features ? MaskRule::kJoins : MaskRule::kUnsupported;
}

const Registered kConcatenate =
    layer<ConcatenateSpec>("Concatenate")
        .doc("two inputs or more, equal except along `axis` -> joined along `axis`")
        .positional(key("axis", &ConcatenateSpec::axis)
                        .doc("axis along which the inputs are joined: -1 for the last, the batch is axis 0"))
        .inputs(2, -1)
        .masks(mask_rule)
        .output(output)
        .example("", {{7, 6, 4}, {7, 6, 4}})
        .example("", {{7, 6, 5}, {7, 6, 5}});

Shape output(const DotSpec& spec, std::span<const Shape> in) {
  const DotOperand first = dot_operand(spec, in[0], 0), second = dot_operand(spec, in[1], 1);
  if (first.length != second.length)
    throw LayerError(fmt::format(
        "{{0}} is {} and {{1}} {}: along axes {} and {} they have {} and {} values, expected the same number",
        in[0].str(), in[1].str(), spec.axes.first, spec.axes.second, first.length, second.length));
  std::vector<std::int64_t> extents;
  if (in[0].rank() == 2) extents.push_back(first.lines);
  if (in[1].rank() == 2) extents.push_back(second.lines);
  return extents.empty() ? Shape{1} : Shape(std::move(extents));
}

const Registered kDot =
    layer<DotSpec>("Dot")
        .doc("[M, K], [N, K] -> [M, N]; a vector [K] has no M, two vectors -> [1]")
        .positional(key("axes", &DotSpec::axes)
                        .required()
                        .doc("axis of both inputs that is summed over, or [first, second]; the batch is axis 0"))
        .key(key("normalize", &DotSpec::normalize).doc("whether to scale the vectors along the axes to length 1 first"))
        .inputs(2)
        .output(output)
        .masks(MaskRule::kEnds)
        .backward_reads([](const DotSpec& spec) { return BackwardReads{.input = !spec.normalize}; })
        .example("axes: 1, normalize: true", {{42, 4}, {42, 4}})
        .example("axes: [2, 1]", {{42, 4}, {4}});

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
