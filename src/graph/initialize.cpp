// The first values of weights, from one random stream for each.

#include "core/random.h"
#include "graph/model.h"
#include "nn/initializer.h"

namespace dptrain::graph {

void initialize(const nn::WeightDef& weight, std::uint64_t seed, std::uint32_t index, std::span<float> values) {
  RandomStream stream(seed, static_cast<std::uint32_t>(Purpose::kInitializer) + index);
  if (weight.parts.empty()) return nn::fill(weight.initializer, weight.shape, stream, values);
  for (const nn::WeightPart& part : weight.parts) {
    nn::fill(part.initializer, {part.elements}, stream, values.first(static_cast<std::size_t>(part.elements)));
    values = values.subspan(static_cast<std::size_t>(part.elements));
  }
}

std::vector<float> initialize(const nn::WeightDef& weight, std::uint64_t seed, std::uint32_t index) {
  std::vector<float> values(static_cast<std::size_t>(weight.shape.elements()));
  initialize(weight, seed, index, values);
  return values;
}

}  // namespace dptrain::graph
