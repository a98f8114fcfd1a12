#pragma once

// Attention as in kernels/cpu/attention.h, on blocks of queries and keys in shared memory, without storing the scores.
// Backward has one kernel for queries and one for keys and values, so that one thread block computes each sum.

#include "core/dtype.h"
#include "kernels/cuda/dropout.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"
#include "kernels/step_state.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// [rows, positions, heads * dim] of the type; positions are `stride` elements apart.
struct AttentionRows {
  void* data = nullptr;
  std::int64_t stride = 0;
};

struct AttentionInputs {
  AttentionShape shape;
  std::int64_t rows = 0;
  AttentionRows q, k, v;
  const float* score_weights = nullptr;  ///< weights of additive scores, key_dim values or one; device memory
  const float* scale = nullptr;          ///< in device memory, multiplies shape.scale; null: 1
  /// As in kernels/cpu/attention.h.
  const std::uint8_t *query_mask = nullptr, *value_mask = nullptr, *key_mask = nullptr;
  Dropout dropout{};                 ///< rate 0: none
  const StepState* state = nullptr;  ///< device memory: the step that dropout uses
};

/// Floats of `saved_tensors`: per query the largest score and 1 / sum, negative if no key is visible to it.
std::int64_t attention_saved_floats(const AttentionShape& shape, std::int64_t rows);
/// Whether the dimensions fit kMaxSharedBytes, which determines the tiles. So the order of sums is the same on every
/// GPU.
bool attention_fits(const AttentionShape& shape);

/// y [rows, queries, heads * value_dim]. `saved_tensors` may be null.
void attention_forward(const Launch& at, DType type, const AttentionInputs& of, void* y, float* saved_tensors);

/// Gradients; each may be null, and none may overwrite an input. `delta`: scratch of rows * heads * queries floats.
struct AttentionGradients {
  AttentionRows dq, dk, dv;
  /// Gradients of the additive weights and the scale: attention_parts() rows of score_gradients() floats; or null.
  float* of_scores = nullptr;
};
constexpr std::int64_t score_gradients(const AttentionShape& shape) { return (shape.additive ? shape.key_dim : 0) + 1; }
std::int64_t attention_parts(const AttentionShape& shape, std::int64_t rows);
void attention_backward(const Launch& at, DType type, const AttentionInputs& of, const void* y, const void* dy,
                        const float* saved_tensors, float* delta, const AttentionGradients& to);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
