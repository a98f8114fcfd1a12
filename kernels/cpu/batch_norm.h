#pragma once

// Batch normalization over [positions, channels] (positions = rows * height * width), in stages, so that replicas can
// combine their sums. Sums are in double and are rounded to float once, after the sums of all replicas are added. The
// split into pieces and replicas changes a sum by 1e-16 of its terms, which almost never survives the rounding: any
// number of replicas computes the same bits. Conventions: parallel.h.

#include <cstdint>
#include <limits>

namespace dptrain::kernels::cpu {

/// Doubles of workspace for batch_norm_sums and batch_norm_gradient_sums.
int64_t batch_norm_workspace(int64_t positions, int64_t channels);

// Forward can also run in pieces, called by a kernel that has just written x or is about to read y (piece_pass.h), with
// the same bits. Pieces of one step of positions must run in order, one at a time.

/// Number of positions that have their own sums in the workspace.
int64_t batch_norm_step(int64_t positions, int64_t channels);
/// Adds positions [begin, end) of `positions` to the sums of their steps; the first piece of a step clears them.
void batch_norm_add(const float* x, int64_t begin, int64_t end, int64_t positions, int64_t channels, double* workspace);
/// The results of batch_norm_sums; call it after all pieces.
void batch_norm_add_up(int64_t positions, int64_t channels, const double* workspace, double* sum, double* sum_sq);

/// sum[c] = sum of x, sum_sq[c] = sum of x^2; zeros if positions == 0. Sums of parts can be added.
void batch_norm_sums(const float* x, int64_t positions, int64_t channels, double* workspace, double* sum,
                     double* sum_sq);

/// mean, biased variance and inv_std = 1 / sqrt(variance + epsilon) from the sums of `total` positions; total 0: zero
/// mean and variance. In double, E[x^2] - mean^2 has a relative error of 1e-15 (1 + mean^2 / variance). It is exact to
/// the last bit of a float for means below thousands of deviations. A negative difference becomes zero.
void batch_norm_moments(const double* sum, const double* sum_sq, int64_t total, float epsilon, int64_t channels,
                        float* mean, float* variance, float* inv_std);

/// scale = gamma / sqrt(variance + epsilon), offset = beta - mean scale. gamma null: 1; beta null: 0.
void batch_norm_coefficients(const float* mean, const float* variance, const float* gamma, const float* beta,
                             float epsilon, int64_t channels, float* scale, float* offset);

/// Ceiling of a ReLU without a maximum.
inline constexpr float kNoCeiling = std::numeric_limits<float>::infinity();

/// The normalization as scale and offset, and the operations fused into the same pass.
struct BatchNormAffine {
  const float* scale;             ///< [channels]
  const float* offset;            ///< [channels]
  const float* addend = nullptr;  ///< [positions, channels], added; null: none
  bool relu = false;              ///< applied last
  float ceiling = kNoCeiling;     ///< maximum of the ReLU's output (6: relu6)
  /// y is written to memory not used recently and saved for backward: large arrays use non-temporal stores.
  bool non_temporal = false;
};

/// y = x scale[c] + offset[c] + addend, then min(max(y, 0), ceiling) if `relu`; y == x and y == addend are allowed.
void batch_norm_apply(const float* x, const BatchNormAffine& affine, int64_t positions, int64_t channels, float* y);

/// batch_norm_apply for positions [begin, end), always through the caches: for a kernel that reads them next.
void batch_norm_apply_piece(const float* x, const BatchNormAffine& affine, int64_t begin, int64_t end, int64_t channels,
                            float* y);

/// Inputs of the gradient. A ReLU passes dy where its output is positive and below its ceiling. This mask, if any, is
/// computed from `output`, or without an addend from scale and offset of forward: y is not read, same result.
struct BatchNormGradient {
  const float* x;
  const float* dy;
  const float* output;            ///< y of forward, or null
  const float* mean;              ///< [channels]
  const float* inv_std;           ///< [channels], 1 / sqrt(variance + epsilon)
  const float* scale = nullptr;   ///< [channels], or null
  const float* offset = nullptr;  ///< [channels]; set if scale is
  float ceiling = kNoCeiling;     ///< of the ReLU
};

/// sum_dy[c] = sum of dy (gradient of beta); sum_dy_xhat[c] = sum of dy (x - mean) inv_std (gradient of gamma); sums of
/// parts can be added. `masked`, if not null, receives dy masked by the ReLU; masked == dy is allowed.
void batch_norm_gradient_sums(const BatchNormGradient& gradient, int64_t positions, int64_t channels, double* workspace,
                              double* sum_dy, double* sum_dy_xhat, float* masked = nullptr);

/// dx = gamma inv_std (dy - sum_dy / total - xhat sum_dy_xhat / total), with the sums over the `total` positions of all
/// replicas that share statistics. gamma null: 1. dx == dy is allowed.
void batch_norm_gradient_apply(const BatchNormGradient& gradient, const float* gamma, const float* sum_dy,
                               const float* sum_dy_xhat, int64_t total, int64_t positions, int64_t channels, float* dx);

/// dx for constant mean and variance (inference, frozen layers): dx = dy scale[c], masked if there is an output.
void batch_norm_gradient_frozen(const float* dy, const float* output, float ceiling, const float* scale,
                                int64_t positions, int64_t channels, float* dx);

}  // namespace dptrain::kernels::cpu
