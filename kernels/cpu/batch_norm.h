#pragma once

// Batch normalisation over [positions, channels] (positions = rows * height * width), in stages so that replicas can
// put their sums together between them. All sums are over fixed blocks of positions, merged in order. May be called
// from any thread; work is shared among the caller's OpenMP threads. Outputs are overwritten.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// Floats of workspace for batch_norm_moments and batch_norm_gradient_sums.
int64_t batch_norm_workspace(int64_t positions, int64_t channels);

/// mean[c], and m2[c] = sum of squared differences from it (the biased variance is m2 / positions). Blocks are merged
/// as in Chan, Golub, LeVeque: "Updating formulae and a pairwise algorithm for computing sample variances" (1979). With
/// positions == 0 both are zero.
void batch_norm_moments(const float* x, int64_t positions, int64_t channels, float* workspace, float* mean, float* m2);

/// Moments of several parts (replicas) as one, in the order given; parts of zero positions are passed over. mean and m2
/// may be those of the first part.
void batch_norm_merge_moments(int parts, const int64_t* positions, const float* const* means, const float* const* m2s,
                              int64_t channels, float* mean, float* m2);

/// scale = gamma / sqrt(variance + epsilon), offset = beta - mean scale. gamma null: 1; beta null: 0.
void batch_norm_coefficients(const float* mean, const float* variance, const float* gamma, const float* beta,
                             float epsilon, int64_t channels, float* scale, float* offset);

/// y = x scale[c] + offset[c], then max(y, 0) if `relu`; y == x allowed.
void batch_norm_apply(const float* x, const float* scale, const float* offset, int64_t positions, int64_t channels,
                      bool relu, float* y);

/// What a gradient is taken through. Where `output` is given (the forward's y with relu), dy counts as zero at
/// output <= 0.
struct BatchNormGradient {
  const float* x;
  const float* dy;
  const float* output;   ///< or null
  const float* mean;     ///< [channels]
  const float* inv_std;  ///< [channels], 1 / sqrt(variance + epsilon)
};

/// sum_dy[c] = sum of dy (beta's gradient); sum_dy_xhat[c] = sum of dy (x - mean) inv_std (gamma's gradient).
void batch_norm_gradient_sums(const BatchNormGradient& gradient, int64_t positions, int64_t channels, float* workspace,
                              float* sum_dy, float* sum_dy_xhat);

/// dx = gamma inv_std (dy - sum_dy / total - xhat sum_dy_xhat / total), with the sums over `total` positions (those of
/// all replicas whose statistics were put together). gamma null: 1. dx == dy allowed.
void batch_norm_gradient_apply(const BatchNormGradient& gradient, const float* gamma, const float* sum_dy,
                               const float* sum_dy_xhat, int64_t total, int64_t positions, int64_t channels, float* dx);

/// dx where mean and variance were constants (inference mode, frozen layers): dx = dy scale[c], masked by output if
/// given.
void batch_norm_gradient_frozen(const float* dy, const float* output, const float* scale, int64_t positions,
                                int64_t channels, float* dx);

}  // namespace dptrain::kernels::cpu
