#pragma once

// Normalization within samples. The channels of a row of [rows, spatial, channels] are cut into `groups` of neighbours;
// each group of a row has its own mean and biased variance. Layer normalization: spatial == 1 and one group. Gradients
// of gamma and beta are sums of fixed pieces of the rows, added in order. Conventions: parallel.h.

#include <cstdint>

#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

using kernels::GroupNorm;

int64_t group_norm_workspace(const GroupNorm& norm, int64_t rows);

/// y = (x - mean) / sqrt(variance + epsilon) gamma[c] + beta[c]; gamma null: 1, beta null: 0. Writes mean and inv_std =
/// 1 / sqrt(variance + epsilon), [rows, groups], unless they are null. If the norm is not centered, mean is 0.
void group_norm_forward(const GroupNorm& norm, const float* x, const float* gamma, const float* beta, int64_t rows,
                        float* workspace, float* y, float* mean, float* inv_std);

/// Inputs of backward; mean and inv_std are those written by forward.
struct GroupNormGradient {
  const float* x;
  const float* dy;
  const float* gamma;  ///< null: 1
  const float* mean;
  const float* inv_std;
};

/// dx, dgamma and dbeta may each be null; dx == dy is allowed.
void group_norm_backward(const GroupNorm& norm, const GroupNormGradient& gradient, int64_t rows, float* workspace,
                         float* dx, float* dgamma, float* dbeta);

}  // namespace dptrain::kernels::cpu
