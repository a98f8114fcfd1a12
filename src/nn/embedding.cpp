#include "nn/embedding.h"

#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

std::vector<OutputDef> outputs(const EmbeddingSpec& spec, std::span<const TensorDef> in) {
  std::vector<std::int64_t> dims = in[0].shape.dims();
  dims.push_back(spec.output_dim);
  std::vector<OutputDef> all{{"", Shape(std::move(dims)), DType::kF32}};
  if (spec.mask_zero) all.push_back(mask_output(in[0].shape));
  return all;
}

std::vector<WeightDef> weights(const EmbeddingSpec& spec, std::span<const Shape>) {
  return {{.name = "embeddings",
           .shape = Shape{spec.input_dim, spec.output_dim},
           .initializer = spec.embeddings_initializer,
           .regularizer = spec.embeddings_regularizer}};
}

const Registered kEmbedding =
    layer<EmbeddingSpec>("Embedding")
        .doc("int32 [...] -> [..., output_dim]; a trained vector for each id")
        .positional(
            extent_key("input_dim", &EmbeddingSpec::input_dim).required().doc("number of ids: all are below it"))
        .key(extent_key("output_dim", &EmbeddingSpec::output_dim).required().doc("size of the vector of an id"))
        .key(key("embeddings_initializer", &EmbeddingSpec::embeddings_initializer).doc("initializer of the table"))
        .key(key("embeddings_regularizer", &EmbeddingSpec::embeddings_regularizer)
                 .doc("penalty on the table, added to the loss"))
        .key(key("mask_zero", &EmbeddingSpec::mask_zero)
                 .doc("whether the id 0 is padding, which later layers leave out"))
        .inputs(1)
        .reads_ids(&EmbeddingSpec::input_dim)
        .outputs(outputs)
        .masks([](const EmbeddingSpec& spec, std::span<const Shape>) {
          return spec.mask_zero ? MaskRule::kProduces : MaskRule::kDrops;
        })
        .weights(weights)
        .backward_reads(BackwardReads{.input_to_train = true})
        .example("input_dim: 4, output_dim: 5, mask_zero: true", {{9}});

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
        .doc("[steps, features] -> same; one trained vector per step, for an `Add` with the input")
        .positional(extent_key("sequence_length", &PositionEmbeddingSpec::sequence_length)
                        .required()
                        .doc("largest number of steps"))
        .key(key("initializer", &PositionEmbeddingSpec::initializer).doc("initializer of the table"))
        .inputs(1)
        .of_rank(2)
        .output(output)
        .weights(weights)
        .example("sequence_length: 50", {{42, 4}});

}  // namespace
}  // namespace dptrain::nn
