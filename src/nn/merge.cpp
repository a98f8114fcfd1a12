#include "nn/merge.h"

#include <algorithm>

#include "core/format.h"

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

MaskRule mask_of_equal_steps(std::span<const Shape> inputs) {
  const auto steps = [](const Shape& shape) { return std::span(shape.dims()).first(shape.dims().size() - 1); };
  const bool equal = std::ranges::all_of(inputs, [&](const Shape& shape) {
    return shape.rank() == inputs[0].rank() &&
           (shape.rank() == 0 || std::ranges::equal(steps(shape), steps(inputs[0])));
  });
  return equal ? MaskRule::kJoins : MaskRule::kHeeds;
}

}  // namespace dptrain::nn
