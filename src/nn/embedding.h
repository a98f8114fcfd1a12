#pragma once

// Layers that look up rows of a trained table.

#include <cstdint>

#include "nn/initializer.h"

namespace dptrain::nn {

/// The row of a table [input_dim, output_dim] for each id: ids [...] to vectors [..., output_dim] (Keras Embedding).
/// With mask_zero the id 0 is padding, and a mask of the other steps is a second output.
struct EmbeddingSpec {
  std::int64_t input_dim = 0, output_dim = 0;
  Initializer embeddings_initializer{RandomUniform{}};
  Regularizer embeddings_regularizer;
  bool mask_zero = false;
};

/// A learned vector for each step, independent of the sample: [steps, features] gives the first `steps` of
/// sequence_length rows (KerasHub's PositionEmbedding; an Add adds them to the input).
struct PositionEmbeddingSpec {
  std::int64_t sequence_length = 0;
  Initializer initializer{GlorotUniform{}};
};

}  // namespace dptrain::nn
