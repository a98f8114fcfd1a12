#include "nn/concatenate.h"

#include "core/format.h"
#include "nn/layer.h"
#include "nn/merge.h"

namespace dptrain::nn {
namespace {

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

/// Of features: a step is valid where any input's is, and an input without a mask is valid everywhere (Keras's any() of
/// all ones). Of steps: the masks one after the other, which no tensor here is.
MaskRule mask_rule(const ConcatenateSpec& spec, std::span<const Shape> in) {
  const bool features = spec.axis == -1 || spec.axis == in[0].rank();
  return features ? MaskRule::kJoins : MaskRule::kHeeds;
}

const Registered kConcatenate = layer<ConcatenateSpec>("Concatenate")
                                    .positional(key("axis", &ConcatenateSpec::axis))
                                    .inputs(2, -1)
                                    .masks(mask_rule)
                                    .output(output);

}  // namespace
}  // namespace dptrain::nn
