#pragma once

// Attention of one or more heads: y = softmax(scores of q and k) v for each head, without the matrix of scores in
// memory. It is computed in blocks of queries by blocks of keys that stay in the caches; forward keeps each query's
// largest score and 1 / sum, from which backward computes the scores again. May be called from any thread; work is
// shared among the caller's threads. Everything written is overwritten; nothing is allocated: the workspace holds as
// many floats as the functions beside say. A sample's results depend neither on the number of samples nor of threads.

#include <cstdint>

#include "kernels/cpu/dropout.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

/// [rows, positions, heads * dim], positions `stride` floats apart.
template <class T>
struct AttentionRows {
  T* data = nullptr;
  int64_t stride = 0;
};

/// What both passes read.
struct AttentionInputs {
  AttentionShape shape;
  int64_t rows = 0;
  AttentionRows<const float> q, k, v;
  const float* score_weights = nullptr;  ///< of additive scores: key_dim numbers, or one
  const uint8_t* query_mask = nullptr;   ///< [rows, queries]: 0 where a query sees no key; null: all see
  const uint8_t* value_mask = nullptr;   ///< [rows, keys]: 0 where a key is hidden; null: none is
  const uint8_t* key_mask = nullptr;     ///< the same: a key is seen where both say so
  /// Of the weights behind the softmax; rate 0: none. The weight of query i and key j of a head is element
  /// (head * queries + i) * K + j of the row, where K is `keys` rounded up to a multiple of 4.
  Dropout dropout{};
};

struct AttentionForward {
  AttentionInputs of;
  float* y = nullptr;     ///< [rows, queries, heads * value_dim]
  float* kept = nullptr;  ///< attention_kept() floats for backward; null: not wanted
};
struct AttentionBackward {
  AttentionInputs of;
  const float *y = nullptr, *dy = nullptr;
  const float* kept = nullptr;
  /// Gradients; null: not wanted. Each may take the place of what it is the gradient of.
  AttentionRows<float> dq, dk, dv;
  /// Gradients of each head of each sample, score_gradients() numbers: of additive scores those of w, one for each d in
  /// any case; behind them that of the scale. Null: not wanted.
  float* of_scores = nullptr;
};
constexpr int64_t score_gradients(const AttentionShape& shape) { return (shape.additive ? shape.key_dim : 0) + 1; }

int64_t attention_kept(const AttentionShape& shape, int64_t rows);
int64_t attention_forward_workspace(const AttentionShape& shape, int threads);
int64_t attention_backward_workspace(const AttentionShape& shape, int threads);
void attention_forward(const AttentionForward& pass, float* workspace);
void attention_backward(const AttentionBackward& pass, float* workspace);

}  // namespace dptrain::kernels::cpu
