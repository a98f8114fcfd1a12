#pragma once

#include <cstdint>

#include "nn/initializer.h"

namespace dptrain::nn {

/// A vector for each step that is learned, whatever the sample: from [steps, features] to the first `steps` of
/// sequence_length rows, of the same shape (KerasHub's PositionEmbedding; an Add puts it to the input).
struct PositionEmbeddingSpec {
  std::int64_t sequence_length = 0;
  Initializer initializer{GlorotUniform{}};
};

}  // namespace dptrain::nn
