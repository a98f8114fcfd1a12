#pragma once

// Optimizer updates (Adam and its relatives: adam.h) and other passes over flat arenas of n floats, with the equations
// of Keras 3. w: weights, g: gradients, others: optimizer state. Arrays must not overlap. Values that change per step
// are in device memory, so passes can be replayed. Sums are double, over pieces that depend only on the sizes.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/optimizers.h"
#include "kernels/step_state.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Device memory that every pass that updates weights reads. If scale->found_inf is set, the pass changes nothing. All
/// passes read step->learning_rate; some of adam.h also read step->hyper.
struct UpdateState {
  const StepState* step = nullptr;
  const LossScale* scale = nullptr;  ///< may be null
};

/// The weights that a pass updates, and their copy in the compute type.
struct UpdatedWeights {
  float* w = nullptr;
  void* compute = nullptr;  ///< also written, element by element; null: none
  DType compute_type = DType::kBf16;
};

/// Without momentum (m null): w -= lr g. With: m = momentum m - lr g; w += m or, with nesterov, w += momentum m - lr g.
void sgd_update(const Launch& at, const SgdPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                const UpdatedWeights& weights, float* m);

/// v = rho v + (1 - rho) g^2; inc = lr g / sqrt(v + epsilon); w -= inc. With `mean` (centered): mean = rho mean + (1 -
/// rho) g, and the root is of v - mean^2 + epsilon. With `m` (momentum): m = momentum m + inc; w -= m.
void rmsprop_update(const Launch& at, const RmspropPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                    const UpdatedWeights& weights, float* v, float* m, float* mean);

/// accumulator += g^2; w -= lr g / sqrt(accumulator + epsilon).
void adagrad_update(const Launch& at, const AdagradPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                    const UpdatedWeights& weights, float* accumulator);

/// v = rho v + (1 - rho) g^2; move = g sqrt(d + epsilon) / sqrt(v + epsilon); d = rho d + (1 - rho) move^2;
/// w -= lr move.
void adadelta_update(const Launch& at, const AdadeltaPass& pass, const UpdateState& state, const float* g,
                     std::int64_t n, const UpdatedWeights& weights, float* v, float* d);

/// w -= lr sign(beta_1 m + (1 - beta_1) g), sign(0) = 0; then m = beta_2 m + (1 - beta_2) g. NaN propagates to w.
void lion_update(const Launch& at, const LionPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                 const UpdatedWeights& weights, float* m);

/// At step 0: average = w, even if found_inf is set. Later: average = momentum average + (1 - momentum) w. If step + 1
/// is a multiple of `overwrite_every` (0: never), then w = average.
void ema_update(const Launch& at, double momentum, std::int64_t overwrite_every, const UpdateState& state,
                std::int64_t n, const UpdatedWeights& weights, float* average);

/// x = min(max(x, -limit), limit); NaN propagates.
void clip_by_value(const Launch& at, float limit, std::int64_t n, float* x);

/// Doubles of workspace for sum_of_squares and clip_by_global_norm, for any n.
std::int64_t norm_workspace();

/// *sum = sum of x^2.
void sum_of_squares(const Launch& at, const float* x, std::int64_t n, double* workspace, double* sum);

/// g = g limit / max(|g|, limit), with the norm over all n. A NaN norm makes every g NaN.
void clip_by_global_norm(const Launch& at, double limit, std::int64_t n, double* workspace, float* g);

/// A table in device memory with `count` rows of type T, and the length of its longest segment.
template <class T>
struct Table {
  const T* rows = nullptr;
  std::int64_t count = 0;
  std::int64_t longest = 0;
};

struct Segment {
  std::int64_t offset = 0, length = 0;  ///< in floats of the arena
};

/// Doubles of workspace for clip_by_norm, squares_of_segments and penalty_value over a table of `count` segments.
std::int64_t segments_workspace(std::int64_t count);

/// clip_by_global_norm per segment.
void clip_by_norm(const Launch& at, double limit, const Table<Segment>& segments, double* workspace, float* g);

/// squares[i] = sum of x^2 over segment i.
void squares_of_segments(const Launch& at, const Table<Segment>& segments, const float* x, double* workspace,
                         double* squares);

struct PenaltySegment {
  std::int64_t offset = 0, length = 0;
  float l1 = 0, l2 = 0;
};

/// g += l1 sign(w) + 2 l2 w.
void add_penalty_gradient(const Launch& at, const Table<PenaltySegment>& segments, const float* w, float* g);

/// *value = sum over the segments of l1 sum |w| + l2 sum w^2 (no 1/2). Zero without segments.
void penalty_value(const Launch& at, const Table<PenaltySegment>& segments, const float* w, double* workspace,
                   double* value);

struct StatisticSegment {
  std::int64_t offset = 0, length = 0;
  double momentum = 0;
};

/// w = momentum w + (1 - momentum) value, with `values` in the gradient arena. `scale` as in UpdateState.
void update_statistics(const Launch& at, const Table<StatisticSegment>& segments, const LossScale* scale,
                       const float* values, float* w);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
