#pragma once

// Updates of Adam and its relatives: averages of gradients and of their squares or magnitudes. Arguments as in
// optimizer.h. t is the update number from 1. The host writes values that depend on t to StepState::hyper, counting
// every step. If LossScale::skipped is not zero, kernels compute them with a t without skipped steps.

#include "kernels/cuda/optimizer.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// hyper[0] = learning_rate sqrt(1 - beta_2^t) / (1 - beta_1^t).
/// m += (g - m)(1 - beta_1); v += (g^2 - v)(1 - beta_2); w -= hyper[0] m / (sqrt(v) + epsilon). With v_max (amsgrad),
/// v_max = max(v_max, v) replaces v in the root.
void adam_update(const Launch& at, const AdamPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                 const UpdatedWeights& weights, float* m, float* v, float* v_max);

/// hyper = nadam_factors(beta_1, beta_2, t) of kernels/nadam_momenta.h: average, gradient, square.
/// m and v as in Adam; w -= lr (hyper[0] m + hyper[1] g) / (sqrt(hyper[2] v) + epsilon).
void nadam_update(const Launch& at, const AdamPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                  const UpdatedWeights& weights, float* m, float* v);

/// hyper[0] = learning_rate / (1 - beta_1^t).
/// m as in Adam; u = max(beta_2 u, |g|); w -= hyper[0] m / (u + epsilon).
void adamax_update(const Launch& at, const AdamPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                   const UpdatedWeights& weights, float* m, float* u);

/// Doubles of workspace for lamb_update over a table of `count` weight tensors.
std::int64_t lamb_workspace(std::int64_t count);

/// hyper[0] = 1 / (1 - beta_1^t), hyper[1] = 1 / (1 - beta_2^t).
/// m and v as in Adam; weight decay of w; g = hyper[0] m / (sqrt(hyper[1] v) + epsilon), replacing the gradient. Then,
/// per segment, w -= lr |w| / |g| g, or w -= lr g if a norm is zero. Weights outside the segments only decay.
void lamb_update(const Launch& at, const AdamPass& pass, const UpdateState& state, float* g, std::int64_t n,
                 const Table<Segment>& segments, double* workspace, const UpdatedWeights& weights, float* m, float* v);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
