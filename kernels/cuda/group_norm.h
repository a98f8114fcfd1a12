#pragma once

// Normalization within samples of [rows, spatial, channels]. The channels are split into `groups`; each group of a row
// has its own mean and biased variance. Layer normalization is spatial == 1 with one group. All arithmetic is float.
// The order of sums depends on the shape and on whether arrays are aligned to 16 bytes.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

using kernels::GroupNorm;

/// y = (x - mean) / sqrt(variance + epsilon) gamma[c] + beta[c]; gamma null: 1, beta null: 0. Writes mean and inv_std =
/// 1 / sqrt(variance + epsilon), [rows, groups], if not null. If the norm is not centered, the mean is 0.
void group_norm_forward(const Launch& at, DType type, const GroupNorm& norm, const void* x, const float* gamma,
                        const float* beta, std::int64_t rows, void* y, float* mean, float* inv_std);

/// Arguments of a gradient; mean and inv_std are from forward.
struct GroupNormGradient {
  const void* x;
  const void* dy;
  const float* gamma;  ///< null: 1
  const float* mean;
  const float* inv_std;
};

void group_norm_backward_data(const Launch& at, DType type, const GroupNorm& norm, const GroupNormGradient& gradient,
                              std::int64_t rows, void* dx);

/// Floats of workspace for group_norm_backward_weights, aligned to 16 bytes; also suffices for fewer rows.
std::int64_t group_norm_workspace(DType type, const GroupNorm& norm, std::int64_t rows);

/// dgamma and dbeta may be null.
void group_norm_backward_weights(const Launch& at, DType type, const GroupNorm& norm, const GroupNormGradient& gradient,
                                 std::int64_t rows, float* workspace, float* dgamma, float* dbeta);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
