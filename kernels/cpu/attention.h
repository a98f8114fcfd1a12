#pragma once

// Multi-head attention: y = softmax(scores of q and k) v for each head, without the matrix of scores in memory. Blocks
// of queries times blocks of keys stay in the caches. Forward saves each query's largest score and 1 / sum, from which
// backward recomputes the scores. Nothing is allocated. Results of a sample depend neither on the number of samples nor
// on the number of threads. Conventions: parallel.h.

#include <cstdint>

#include "kernels/cpu/dropout.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

/// [rows, positions, heads * dim], with positions `stride` floats apart.
template <class T>
struct AttentionRows {
  T* data = nullptr;
  int64_t stride = 0;
};

/// Inputs of both passes.
struct AttentionInputs {
  AttentionShape shape;
  int64_t rows = 0;
  AttentionRows<const float> q, k, v;
  const float* score_weights = nullptr;  ///< additive scores: key_dim numbers, or one
  const uint8_t* query_mask = nullptr;   ///< [rows, queries]: 0 masks the query; null: no mask
  const uint8_t* value_mask = nullptr;   ///< [rows, keys]: 0 masks the key; null: no mask
  const uint8_t* key_mask = nullptr;     ///< as value_mask; a key is visible if both masks allow it
  /// Dropout of the softmax's output; rate 0: none. The weight of query i and key j of a head is element (head *
  /// queries + i) * K + j of the row. K is `keys` rounded up to a multiple of 4.
  Dropout dropout{};
};

struct AttentionForward {
  AttentionInputs of;
  float* y = nullptr;              ///< [rows, queries, heads * value_dim]
  float* saved_tensors = nullptr;  ///< saved for backward, attention_saved_floats() floats; null: not saved
};
struct AttentionBackward {
  AttentionInputs of;
  const float *y = nullptr, *dy = nullptr;
  const float* saved_tensors = nullptr;
  /// Gradients; null: not computed. Each may overwrite the tensor it belongs to.
  AttentionRows<float> dq, dk, dv;
  /// Gradients of each head of each sample, score_gradients() numbers; null: not computed. With additive scores key_dim
  /// gradients of score_weights (also for a single weight), then that of the scale.
  float* of_scores = nullptr;
};
constexpr int64_t score_gradients(const AttentionShape& shape) { return (shape.additive ? shape.key_dim : 0) + 1; }

int64_t attention_saved_floats(const AttentionShape& shape, int64_t rows);
int64_t attention_forward_workspace(const AttentionShape& shape, int threads);
int64_t attention_backward_workspace(const AttentionShape& shape, int threads);
void attention_forward(const AttentionForward& pass, float* workspace);
void attention_backward(const AttentionBackward& pass, float* workspace);

}  // namespace dptrain::kernels::cpu
