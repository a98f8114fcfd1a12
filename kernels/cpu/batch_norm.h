#pragma once

// Batch normalisation over [positions, channels] (positions = rows * height * width), in stages so that replicas can
// put their sums together between them. Sums are in double and rounded to float once, after the replicas' sums have
// been added: how positions are cut into pieces and among replicas moves a sum by 1e-16 of its terms, which the
// rounding to float all but never lets through, so any number of replicas gets the same bits. May be called from any
// thread; work is shared among the caller's threads, whose number changes nothing. Outputs are overwritten.

#include <cstdint>
#include <limits>

namespace dptrain::kernels::cpu {

/// Doubles of workspace for batch_norm_sums and batch_norm_gradient_sums.
int64_t batch_norm_workspace(int64_t positions, int64_t channels);

// The passes of forward can also be run piece by piece, by a kernel that has just made x or is about to read y
// (piece_pass.h), with the same bits. Pieces of sums that share a step of positions come in order, one at a time.

/// Positions whose sums are added up by themselves, in the workspace.
int64_t batch_norm_step(int64_t positions, int64_t channels);
/// Positions [begin, end) of all `positions` are added to the sums of their steps, each of which begins at zero.
void batch_norm_add(const float* x, int64_t begin, int64_t end, int64_t positions, int64_t channels, double* workspace);
/// sum and sum_sq as batch_norm_sums gives them, behind all pieces.
void batch_norm_add_up(int64_t positions, int64_t channels, const double* workspace, double* sum, double* sum_sq);

/// sum[c] = sum of x, sum_sq[c] = sum of its squares, for batch_norm_moments. Sums of parts are added. With
/// positions == 0 both are zero.
void batch_norm_sums(const float* x, int64_t positions, int64_t channels, double* workspace, double* sum,
                     double* sum_sq);

/// mean, biased variance and inv_std = 1 / sqrt(variance + epsilon) of `total` positions from their sums; of none: zero
/// mean and variance. The difference E[x^2] - mean^2 of doubles keeps the variance of floats to 1e-15 (1 + mean^2 /
/// variance), so it is good to a float's last bit up to means of thousands of deviations; below zero it is taken as
/// zero.
void batch_norm_moments(const double* sum, const double* sum_sq, int64_t total, float epsilon, int64_t channels,
                        float* mean, float* variance, float* inv_std);

/// scale = gamma / sqrt(variance + epsilon), offset = beta - mean scale. gamma null: 1; beta null: 0.
void batch_norm_coefficients(const float* mean, const float* variance, const float* gamma, const float* beta,
                             float epsilon, int64_t channels, float* scale, float* offset);

/// Of a ReLU without a largest value.
inline constexpr float kNoCeiling = std::numeric_limits<float>::infinity();

/// What the normalisation comes down to, and what is done with it in the same pass.
struct BatchNormAffine {
  const float* scale;             ///< [channels]
  const float* offset;            ///< [channels]
  const float* addend = nullptr;  ///< or [positions, channels], added
  bool relu = false;              ///< at last
  float ceiling = kNoCeiling;     ///< with relu: no more than this (6: relu6)
  /// y lies where nothing lay for long, kept for a backward pass: a large one is written past the caches.
  bool kept = false;
};

/// y = x scale[c] + offset[c] + addend, then min(max(y, 0), ceiling) if `relu`; y == x and y == addend allowed.
void batch_norm_apply(const float* x, const BatchNormAffine& affine, int64_t positions, int64_t channels, float* y);

/// Positions [begin, end) of that, always through the caches: for who reads them next.
void batch_norm_apply_piece(const float* x, const BatchNormAffine& affine, int64_t begin, int64_t end, int64_t channels,
                            float* y);

/// What a gradient is taken through. A ReLU lets dy pass where its output was positive and below its ceiling; how that
/// is known, if there was one: from `output` (the forward's y), or, without an addend, from x by the forward's scale
/// and offset, which saves reading y and gives the same answer.
struct BatchNormGradient {
  const float* x;
  const float* dy;
  const float* output;            ///< or null
  const float* mean;              ///< [channels]
  const float* inv_std;           ///< [channels], 1 / sqrt(variance + epsilon)
  const float* scale = nullptr;   ///< [channels], or null
  const float* offset = nullptr;  ///< [channels], where scale is given
  float ceiling = kNoCeiling;     ///< of the ReLU
};

/// sum_dy[c] = sum of dy (beta's gradient); sum_dy_xhat[c] = sum of dy (x - mean) inv_std (gamma's gradient). Sums of
/// parts are added. `masked`, if not null, gets dy as the ReLU lets it pass; masked == dy allowed.
void batch_norm_gradient_sums(const BatchNormGradient& gradient, int64_t positions, int64_t channels, double* workspace,
                              double* sum_dy, double* sum_dy_xhat, float* masked = nullptr);

/// dx = gamma inv_std (dy - sum_dy / total - xhat sum_dy_xhat / total), with the sums over `total` positions (those of
/// all replicas whose statistics were put together). gamma null: 1. dx == dy allowed.
void batch_norm_gradient_apply(const BatchNormGradient& gradient, const float* gamma, const float* sum_dy,
                               const float* sum_dy_xhat, int64_t total, int64_t positions, int64_t channels, float* dx);

/// dx where mean and variance were constants (inference mode, frozen layers): dx = dy scale[c], masked by output and
/// ceiling if output is given.
void batch_norm_gradient_frozen(const float* dy, const float* output, float ceiling, const float* scale,
                                int64_t positions, int64_t channels, float* dx);

}  // namespace dptrain::kernels::cpu
