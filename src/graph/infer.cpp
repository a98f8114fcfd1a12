#include "graph/infer.h"

#include "core/format.h"
#include "core/quantity.h"

namespace dptrain::graph {
namespace {

using nn::LayerError;
using nn::LayerType;
using nn::TensorDef;

/// 4 TiB of floats: what is larger is a slip of the pen, and products further on would leave 64 bits.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

bool too_large(const Shape& shape) {
  std::int64_t room = kMaxElements;
  for (const std::int64_t extent : shape.dims())
    if ((room /= std::max<std::int64_t>(extent, 1)) == 0) return true;
  return false;
}

void check_arity(const LayerType& type, std::size_t found) {
  const int n = static_cast<int>(found);
  if (n >= type.min_inputs && (type.max_inputs < 0 || n <= type.max_inputs)) return;
  const bool exact = type.max_inputs == type.min_inputs;
  throw LayerError(
      fmt::format("expected {}{}, found {}", exact ? "" : "at least ", counted(type.min_inputs, "input"), n));
}

void check_types(const LayerType& type, std::span<const TensorDef> inputs, std::span<const std::string> names) {
  for (std::size_t i = 0; !type.is_view && i < inputs.size(); ++i) {
    if (inputs[i].type == type.input_type) continue;
    throw LayerError(type.input_type == DType::kI32
                         ? fmt::format("expected int32 ids, {} is floats; give its Input dtype: int32", names[i])
                         : fmt::format("expected floats, {} is {} ids; an Embedding makes vectors of them", names[i],
                                       name_of(inputs[i].type)));
  }
}

void check_rank(const LayerType& type, std::span<const TensorDef> inputs, std::span<const std::string> names) {
  for (std::size_t i = 0; type.input_rank != 0 && i < inputs.size(); ++i)
    if (inputs[i].shape.rank() != type.input_rank)
      throw LayerError(fmt::format("expected an input of {} axes{}, {} is {}", type.input_rank,
                                   type.input_rank == 3   ? " (height, width, channels)"
                                   : type.input_rank == 2 ? " (steps, features)"
                                                          : "",
                                   names[i], inputs[i].shape.str()));
}

/// Puts the names in the place of {0}, {1}, ...
std::string with_names(std::string text, std::span<const std::string> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string hole = fmt::format("{{{}}}", i);
    for (std::size_t at = 0; (at = text.find(hole, at)) != std::string::npos; at += names[i].size())
      text.replace(at, hole.size(), names[i]);
  }
  return text;
}

}  // namespace

std::vector<nn::OutputDef> infer(const config::Typed& layer, std::span<const TensorDef> inputs,
                                 std::span<const std::string> names) {
  const LayerType& type = nn::type_of(layer);
  check_arity(type, inputs.size());
  check_types(type, inputs, names);
  check_rank(type, inputs, names);
  try {
    std::vector<nn::OutputDef> outputs = type.outputs(layer.spec(), inputs);
    for (const nn::OutputDef& output : outputs)
      if (too_large(output.shape))
        throw LayerError(fmt::format("one sample of the output would be {}: too large", output.shape.str()));
    for (const nn::WeightDef& weight : type.weights(layer.spec(), nn::shapes_of(inputs)))
      if (too_large(weight.shape))
        throw LayerError(fmt::format("{} would be {}: too large", weight.name, weight.shape.str()));
    return outputs;
  } catch (const LayerError& error) {
    throw LayerError(with_names(error.what(), names));
  }
}

}  // namespace dptrain::graph
