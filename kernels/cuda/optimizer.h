#pragma once

// Optimizer updates (those of Adam and its relatives: adam.h) and other passes over flat arenas of n floats in device
// memory, with the equations of Keras 3 (as kernels/cpu/optimizer.h). w: weights, g: gradients, the rest are the
// optimizer's slots. Arrays must not overlap. Queued on the launch's stream. Values that change from step to step are
// read from device memory, so the passes can be recorded and replayed. Sums are in double, over pieces that depend on
// the sizes alone, added in order.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/optimizers.h"
#include "kernels/step_state.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Device memory that every pass that changes weights reads. If `scale` is not null and its found_inf is set, the pass
/// changes nothing. All passes read step->learning_rate; some of adam.h also read step->hyper.
struct UpdateState {
  const StepState* step = nullptr;
  const LossScale* scale = nullptr;  ///< or null
};

/// The weights a pass updates, and their copy in the type that layers compute in.
struct UpdatedWeights {
  float* w = nullptr;
  void* compute = nullptr;  ///< written too, element for element; null: none
  DType compute_type = DType::kBf16;
};

/// Without momentum (m null): w -= lr g. With: m = momentum m - lr g; w += m, or, nesterov, w += momentum m - lr g.
void sgd_update(const Launch& at, const SgdPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                const UpdatedWeights& weights, float* m);

/// v = rho v + (1 - rho) g^2; inc = lr g / sqrt(v + epsilon); w -= inc. `mean` not null (centered): mean = rho mean +
/// (1 - rho) g, and v - mean^2 + epsilon is under the root. `m` not null (momentum): m = momentum m + inc; w -= m.
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

/// At step 0: average = w, even if found_inf is set. Later: average = momentum average + (1 - momentum) w. Then, where
/// step + 1 is a multiple of `overwrite_every` (0: never), w = average.
void ema_update(const Launch& at, double momentum, std::int64_t overwrite_every, const UpdateState& state,
                std::int64_t n, const UpdatedWeights& weights, float* average);

/// x = min(max(x, -limit), limit); NaN stays NaN.
void clip_by_value(const Launch& at, float limit, std::int64_t n, float* x);

/// Doubles of workspace for sum_of_squares and clip_by_global_norm, whatever n.
std::int64_t norm_workspace();

/// *sum = sum of x^2.
void sum_of_squares(const Launch& at, const float* x, std::int64_t n, double* workspace, double* sum);

/// g = g limit / max(|g|, limit), the norm over all n. A norm of NaN makes every g NaN.
void clip_by_global_norm(const Launch& at, double limit, std::int64_t n, double* workspace, float* g);

/// A table in device memory with `count` rows of type T, and its longest segment.
template <class T>
struct Table {
  const T* rows = nullptr;
  std::int64_t count = 0;
  std::int64_t longest = 0;
};

struct Segment {
  std::int64_t offset = 0, length = 0;  ///< floats of the arena
};

/// Doubles of workspace for clip_by_norm, squares_of_segments and penalty_value over a table of `count` segments.
std::int64_t segments_workspace(std::int64_t count);

/// clip_by_global_norm for each segment separately.
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

/// *value = sum over the segments of l1 sum |w| + l2 sum w^2 (no 1/2). With no segments it is zero.
void penalty_value(const Launch& at, const Table<PenaltySegment>& segments, const float* w, double* workspace,
                   double* value);

struct StatisticSegment {
  std::int64_t offset = 0, length = 0;
  double momentum = 0;
};

/// w = momentum w + (1 - momentum) value, where the value is in the gradients' arena. `scale` as in UpdateState.
void update_statistics(const Launch& at, const Table<StatisticSegment>& segments, const LossScale* scale,
                       const float* values, float* w);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
