#pragma once

// Adam and related optimizers. Arguments as in optimizer.h; t is UpdateState::step.

#include <cstdint>

#include "kernels/cpu/optimizer.h"

namespace dptrain::kernels::cpu {

/// m += (g - m)(1 - beta_1); v += (g^2 - v)(1 - beta_2); w -= lr sqrt(1 - beta_2^t) / (1 - beta_1^t) m / (sqrt(v) +
/// epsilon). If v_max is not null (amsgrad), v_max = max(v_max, v) replaces v under the root.
void adam_update(const Launch& at, const AdamPass& pass, const UpdateState& state, const float* g, int64_t n, float* w,
                 float* m, float* v, float* v_max);

/// m and v as in Adam; w -= lr (a m + b g) / (sqrt(c v) + epsilon), with a, b and c from kernels/nadam_momenta.h.
void nadam_update(const Launch& at, const AdamPass& pass, const UpdateState& state, const float* g, int64_t n, float* w,
                  float* m, float* v);

/// m as in Adam; u = max(beta_2 u, |g|); w -= lr / (1 - beta_1^t) m / (u + epsilon).
void adamax_update(const Launch& at, const AdamPass& pass, const UpdateState& state, const float* g, int64_t n,
                   float* w, float* m, float* u);

/// First half of LAMB, over any number of weight tensors. Updates m and v as Adam and applies the weight decay to w.
/// Overwrites g with the step, m / (1 - beta_1^t) / (sqrt(v / (1 - beta_2^t)) + epsilon).
void lamb_step(const AdamPass& pass, const UpdateState& state, float* g, int64_t n, float* w, float* m, float* v);
/// Second half, over one weight tensor: w -= learning_rate |w| / |g| g, or learning_rate g if a norm is zero.
void lamb_update(double learning_rate, const float* g, int64_t n, float* w);

}  // namespace dptrain::kernels::cpu
