#pragma once

// Optimizer updates (Adam and related ones: adam.h) and other passes over flat arrays of n floats, with the equations
// of Keras 3. w: weights, g: gradients; the others are optimizer state. Arrays must not overlap. Sums are over fixed
// blocks, added in order. Conventions: parallel.h.

#include <cstdint>

#include "kernels/cpu/launch.h"
#include "kernels/optimizers.h"

namespace dptrain::kernels::cpu {

/// Arguments that change with each step.
struct UpdateState {
  double learning_rate = 0.0;
  int64_t step = 1;  ///< t, 1 at the first update; used by Adam and related optimizers
};

/// m null: w -= lr g. With momentum: m = momentum m - lr g; w += m, or, nesterov, w += momentum m - lr g.
void sgd_update(const Launch& at, const SgdPass& pass, const UpdateState& state, const float* g, int64_t n, float* w,
                float* m);

/// v = rho v + (1 - rho) g^2; inc = lr g / sqrt(v + epsilon); w -= inc. `mean` not null (centered): mean = rho mean +
/// (1 - rho) g, and v - mean^2 + epsilon is under the root. `m` not null (momentum): m = momentum m + inc; w -= m.
void rmsprop_update(const Launch& at, const RmspropPass& pass, const UpdateState& state, const float* g, int64_t n,
                    float* w, float* v, float* m, float* mean);

/// accumulator += g^2; w -= lr g / sqrt(accumulator + epsilon).
void adagrad_update(const Launch& at, const AdagradPass& pass, const UpdateState& state, const float* g, int64_t n,
                    float* w, float* accumulator);

/// v = rho v + (1 - rho) g^2; u = g sqrt(d + epsilon) / sqrt(v + epsilon); d = rho d + (1 - rho) u^2; w -= lr u.
void adadelta_update(const Launch& at, const AdadeltaPass& pass, const UpdateState& state, const float* g, int64_t n,
                     float* w, float* v, float* d);

/// w -= lr sign(beta_1 m + (1 - beta_1) g), sign(0) = 0; then m = beta_2 m + (1 - beta_2) g. NaN propagates to w.
void lion_update(const Launch& at, const LionPass& pass, const UpdateState& state, const float* g, int64_t n, float* w,
                 float* m);

/// average = momentum average + (1 - momentum) w.
void ema_update(double momentum, const float* w, int64_t n, float* average);

/// x = min(max(x, -limit), limit); NaN stays NaN.
void clip_by_value(float limit, int64_t n, float* x);
void scale(float factor, int64_t n, float* x);
double sum_of_squares(const float* x, int64_t n);

bool all_finite(const float* x, int64_t n);

/// l1 sum |w| + l2 sum w^2 (no 1/2), in double.
double l1l2_value(const float* w, int64_t n, float l1, float l2);

/// g += factor (l1 sign(w) + 2 l2 w).
void add_l1l2_gradient(const float* w, int64_t n, float l1, float l2, float factor, float* g);

}  // namespace dptrain::kernels::cpu
