#pragma once

#include <cstdint>

#include "nn/initializer.h"
#include "nn/regularizer.h"

namespace dptrain::nn {

/// The row of a table [input_dim, output_dim] for each id: ids [...] to vectors [..., output_dim] (Keras Embedding).
/// With mask_zero the id 0 is padding, and the layer says which steps are none.
struct EmbeddingSpec {
  std::int64_t input_dim = 0, output_dim = 0;
  Initializer embeddings_initializer{RandomUniform{}};
  Regularizer embeddings_regularizer;
  bool mask_zero = false;
};

}  // namespace dptrain::nn
