#pragma once

// Attention of one or more heads, as kernels/cpu/attention.h: blocks of queries by blocks of keys in shared memory, the
// matrix of scores never in the device's. Backward is two kernels, one for the queries and one for keys and values, so
// that each sum is of one thread block. Asynchronous on the launch's stream; any thread.

#include "core/dtype.h"
#include "kernels/cuda/dropout.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"
#include "kernels/step_state.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// [rows, positions, heads * dim] of the type, positions `stride` elements apart.
struct AttentionRows {
  void* data = nullptr;
  std::int64_t stride = 0;
};

struct AttentionInputs {
  AttentionShape shape;
  std::int64_t rows = 0;
  AttentionRows q, k, v;
  const float* score_weights = nullptr;  ///< of additive scores: key_dim numbers, or one; device memory
  const float* scale = nullptr;          ///< another factor of shape.scale, in device memory; null: 1
  /// As in kernels/cpu/attention.h.
  const std::uint8_t *query_mask = nullptr, *value_mask = nullptr, *key_mask = nullptr;
  Dropout dropout{};                 ///< rate 0: none
  const StepState* state = nullptr;  ///< device memory: the step that dropout draws for
};

/// Floats of `kept`: each query's largest score and 1 / sum, negative where it sees no key.
std::int64_t attention_kept(const AttentionShape& shape, std::int64_t rows);
/// Whether dimensions are small enough for shared memory.
bool attention_fits(const AttentionShape& shape);

/// y [rows, queries, heads * value_dim]. kept: null where it is not wanted.
void attention_forward(const Launch& at, DType type, const AttentionInputs& of, void* y, float* kept);

/// Gradients, each null where it is not wanted; none takes the place of an input. `along`: room for rows * heads *
/// queries floats.
struct AttentionGradients {
  AttentionRows dq, dk, dv;
  /// Gradients of additive scores' weights (key_dim) and of the scale, in parts whose sum they are: attention_parts()
  /// rows of score_gradients() numbers. Null: not wanted.
  float* of_scores = nullptr;
};
constexpr std::int64_t score_gradients(const AttentionShape& shape) { return (shape.additive ? shape.key_dim : 0) + 1; }
std::int64_t attention_parts(const AttentionShape& shape, std::int64_t rows);
void attention_backward(const Launch& at, DType type, const AttentionInputs& of, const void* y, const void* dy,
                        const float* kept, float* along, const AttentionGradients& to);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
