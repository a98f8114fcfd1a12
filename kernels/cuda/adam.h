#pragma once

// The updates of Adam and its relatives: an average of gradients, and one of their squares or sizes. Arguments as in
// optimizer.h. t is the number of the update, from 1; the host writes what depends on it into StepState::hyper,
// counting every step. Once LossScale::skipped is not zero the kernels compute it themselves, with a t without the
// skipped steps.

#include "kernels/cuda/optimizer.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// hyper[0] = learning_rate sqrt(1 - beta_2^t) / (1 - beta_1^t).
/// m += (g - m)(1 - beta_1); v += (g^2 - v)(1 - beta_2); w -= hyper[0] m / (sqrt(v) + epsilon). v_max not null
/// (amsgrad): v_max = max(v_max, v) is under the root.
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
/// m and v as in Adam; w without its decay; g = hyper[0] m / (sqrt(hyper[1] v) + epsilon), in place of the gradient;
/// then, in each segment, w -= lr |w| / |g| g, or, where one of the norms is zero, w -= lr g. Of weights outside the
/// segments only the decay is taken.
void lamb_update(const Launch& at, const AdamPass& pass, const UpdateState& state, float* g, std::int64_t n,
                 const Table<Segment>& segments, double* workspace, const UpdatedWeights& weights, float* m, float* v);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
