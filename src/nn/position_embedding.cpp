#include "nn/position_embedding.h"

#include "core/format.h"
#include "nn/geometry.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

Shape output(const PositionEmbeddingSpec& spec, std::span<const Shape> in) {
  if (in[0][0] > spec.sequence_length)
    throw LayerError(
        fmt::format("{{0}} is {}, it has more steps than sequence_length, {}", in[0].str(), spec.sequence_length));
  return in[0];
}

std::vector<WeightDef> weights(const PositionEmbeddingSpec& spec, std::span<const Shape> in) {
  return {{.name = "embeddings", .shape = {spec.sequence_length, in[0].back()}, .initializer = spec.initializer}};
}

const Registered kPositionEmbedding =
    layer<PositionEmbeddingSpec>("PositionEmbedding")
        .positional(
            key("sequence_length", &PositionEmbeddingSpec::sequence_length).required().at_least(1).check(Bounded{}))
        .key(key("initializer", &PositionEmbeddingSpec::initializer))
        .inputs(1)
        .of_rank(2)
        .output(output)
        .weights(weights);

}  // namespace
}  // namespace dptrain::nn
