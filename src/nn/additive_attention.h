#pragma once

#include "nn/attention.h"

namespace dptrain::nn {

/// Keras AdditiveAttention: as Attention, with scores that are the sum over the features of scale * tanh(q + k), where
/// use_scale learns a scale for each feature.
struct AdditiveAttentionSpec {
  bool use_scale = true;
  float dropout = 0;             ///< of the weights behind the softmax
  bool use_causal_mask = false;  ///< Keras's argument of the call: query i sees the keys [0, i]
};

}  // namespace dptrain::nn
