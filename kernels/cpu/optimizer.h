#pragma once

// Optimizer updates (those of Adam and its relatives: adam.h) and other passes over flat arenas of n floats, with the
// equations of Keras 3. w: weights, g: gradients, the rest are the optimizer's slots. May be called from any thread;
// work is shared among the caller's threads. Arrays must not overlap. Sums are over fixed blocks, added in order.
// Hyperparameters are double, so that 1 - beta is taken before it is rounded to float. A step's weight_decay is
// decoupled: w -= lr weight_decay w before the update.

#include <cstdint>

namespace dptrain::kernels::cpu {

struct SgdStep {
  double learning_rate;
  double momentum = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
};

/// Without momentum (m null): w -= lr g. With: m = momentum m - lr g; w += m, or, nesterov, w += momentum m - lr g.
void sgd_update(const SgdStep& step, const float* g, int64_t n, float* w, float* m);

struct RmspropStep {
  double learning_rate;
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  double weight_decay = 0.0;
};

/// v = rho v + (1 - rho) g^2; inc = lr g / sqrt(v + epsilon); w -= inc. `mean` not null (centered): mean = rho mean +
/// (1 - rho) g, and v - mean^2 + epsilon stands under the root. `m` not null (momentum): m = momentum m + inc; w -= m.
void rmsprop_update(const RmspropStep& step, const float* g, int64_t n, float* w, float* v, float* m, float* mean);

struct AdagradStep {
  double learning_rate;
  double epsilon = 1e-7;
  double weight_decay = 0.0;
};

/// accumulator += g^2; w -= lr g / sqrt(accumulator + epsilon).
void adagrad_update(const AdagradStep& step, const float* g, int64_t n, float* w, float* accumulator);

struct AdadeltaStep {
  double learning_rate;
  double rho = 0.95;
  double epsilon = 1e-7;
  double weight_decay = 0.0;
};

/// v = rho v + (1 - rho) g^2; move = g sqrt(d + epsilon) / sqrt(v + epsilon); d = rho d + (1 - rho) move^2;
/// w -= lr move.
void adadelta_update(const AdadeltaStep& step, const float* g, int64_t n, float* w, float* v, float* d);

struct LionStep {
  double learning_rate;
  double beta_1 = 0.9;
  double beta_2 = 0.99;
  double weight_decay = 0.0;
};

/// w -= lr sign(beta_1 m + (1 - beta_1) g), sign(0) = 0; then m = beta_2 m + (1 - beta_2) g. NaN goes on to w.
void lion_update(const LionStep& step, const float* g, int64_t n, float* w, float* m);

/// average = momentum average + (1 - momentum) w.
void ema_update(double momentum, const float* w, int64_t n, float* average);

/// x = min(max(x, -limit), limit); NaN stays NaN.
void clip_by_value(float limit, int64_t n, float* x);

/// x *= factor.
void scale(float factor, int64_t n, float* x);

/// Sum of x^2, in double.
double sum_of_squares(const float* x, int64_t n);

/// Whether no element is infinite or NaN.
bool all_finite(const float* x, int64_t n);

/// l1 sum |w| + l2 sum w^2 (no 1/2), in double.
double l1l2_value(const float* w, int64_t n, float l1, float l2);

/// g += factor (l1 sign(w) + 2 l2 w).
void add_l1l2_gradient(const float* w, int64_t n, float l1, float l2, float factor, float* g);

}  // namespace dptrain::kernels::cpu
