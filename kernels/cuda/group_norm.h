#pragma once

// Normalisation within samples: of [rows, spatial, channels], the channels of a row cut into `groups` of neighbours,
// each group of a row has its own mean and biased variance. Layer normalisation is spatial == 1 and one group.
// Arithmetic and statistics in float; sums in an order that depends on the shape and on whether arrays begin at
// multiples of 16 bytes. Asynchronous on the launch's stream; any thread. Outputs are overwritten.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

using kernels::GroupNorm;

/// y = (x - mean) / sqrt(variance + epsilon) gamma[c] + beta[c]; gamma null: 1, beta null: 0. Writes mean and
/// inv_std = 1 / sqrt(variance + epsilon), [rows, groups], unless they are null. Where the norm is not centered the
/// mean counts as 0.
void group_norm_forward(const Launch& at, DType type, const GroupNorm& norm, const void* x, const float* gamma,
                        const float* beta, std::int64_t rows, void* y, float* mean, float* inv_std);

/// What a gradient is taken through: mean and inv_std as forward left them.
struct GroupNormGradient {
  const void* x;
  const void* dy;
  const float* gamma;  ///< null: 1
  const float* mean;
  const float* inv_std;
};

void group_norm_backward_data(const Launch& at, DType type, const GroupNorm& norm, const GroupNormGradient& gradient,
                              std::int64_t rows, void* dx);

/// Floats of workspace that group_norm_backward_weights needs, aligned to 16 bytes; suffices for fewer rows, too.
std::int64_t group_norm_workspace(DType type, const GroupNorm& norm, std::int64_t rows);

/// dgamma and dbeta may be null.
void group_norm_backward_weights(const Launch& at, DType type, const GroupNorm& norm, const GroupNormGradient& gradient,
                                 std::int64_t rows, float* workspace, float* dgamma, float* dbeta);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
