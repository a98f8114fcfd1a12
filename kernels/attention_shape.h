#pragma once

// What attention is over, the same for kernels/cpu and kernels/cuda.

#include <cstdint>

namespace dptrain::kernels {

struct AttentionShape {
  int64_t heads = 1, queries = 0, keys = 0, key_dim = 0, value_dim = 0;
  /// Scores are scale * q k', or additive ones, the sum over d of w_d tanh(scale (q_d + k_d)): with a weight for each
  /// d, or one for all.
  bool additive = false, one_weight = false;
  float scale = 1;
  bool causal = false;  ///< query i sees the keys [0, i]
  /// A query that sees no key at all takes the mean of all values. Whether its scores have gradients all the same
  /// (Keras's Attention lowers hidden scores by 1e9), or none (MultiHeadAttention puts a constant in their place).
  bool blind_scores_count = false;
};

}  // namespace dptrain::kernels
