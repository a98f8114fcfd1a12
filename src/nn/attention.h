#pragma once

// Attention of one head without projections, of inputs [query, value] or [query, value, key]; without a key the value
// is the key. A query sees the keys that the value's mask and the causal mask leave; where none is left it takes the
// mean of all values. The outputs of queries that the query's mask leaves out are zero; the key's mask is not heeded.

#include <cstdint>
#include <span>

#include "core/shape.h"

namespace dptrain::nn {

enum class ScoreMode { kDot, kConcat };

/// Keras Attention: y = softmax(scores) v with scores q k', times a scale that is learned (use_scale), or, with concat,
/// c times the sum over the features of tanh(scale (q + k)) with a learned c.
struct AttentionSpec {
  bool use_scale = false;
  ScoreMode score_mode = ScoreMode::kDot;
  float dropout = 0;             ///< of the weights behind the softmax
  bool use_causal_mask = false;  ///< Keras's argument of the call: query i sees the keys [0, i]
};

/// [query steps, value features]. Throws LayerError.
Shape attention_shape(std::span<const Shape> in);

}  // namespace dptrain::nn
