#pragma once

// Batch normalization over [positions, channels] (positions = rows * height * width), as in kernels/cpu/batch_norm.h.
// Replicas can combine sums between the stages. Sums are double: their split changes about 1e-16 of their terms, which
// rounding to float almost always removes. Activations are of `type`, vectors of channels float.
//
// Training, forward: statistics, apply. With sums over all replicas: sums, all-gather, add_messages, moments, apply.
// Backward: gradient_sums, [all-gather, add_messages], gradient_apply. Inference: coefficients, apply, and backward
// gradient_sums, gradient_frozen.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Doubles of workspace for batch_norm_sums and batch_norm_gradient_sums. Does not decrease with positions.
std::int64_t batch_norm_workspace(DType type, std::int64_t positions, std::int64_t channels);

/// Sums of one replica. A message, which replicas gather, contains positions, sum[channels], product[channels].
struct BatchNormSums {
  double* count = nullptr;    ///< set to positions; null: not written
  double* sum = nullptr;      ///< forward: of x; backward: of dy
  double* product = nullptr;  ///< forward: of x^2; backward: of dy (x - mean) inv_std
};

/// Doubles of a message.
constexpr std::int64_t batch_norm_message(std::int64_t channels) { return 1 + 2 * channels; }

inline BatchNormSums batch_norm_message_sums(double* message, std::int64_t channels) {
  return {.count = message, .sum = message + 1, .product = message + 1 + channels};
}

/// Number of positions in the sums: `counted` in device memory (first double of a message), or `known` if that is null.
struct BatchNormTotal {
  const double* counted = nullptr;
  std::int64_t known = 0;
};

/// Sums of x and x^2. With positions == 0 all are zero.
void batch_norm_sums(const Launch& at, DType type, const void* x, std::int64_t positions, std::int64_t channels,
                     double* workspace, const BatchNormSums& sums);

/// message = the sum of `replicas` consecutive messages in `gathered`, added in rank order.
void batch_norm_add_messages(const Launch& at, const double* gathered, int replicas, std::int64_t channels,
                             double* message);

/// Outputs of batch_norm_moments, [channels] each; any may be null.
struct BatchNormMoments {
  float* mean = nullptr;
  float* variance = nullptr;  ///< biased
  float* inv_std = nullptr;   ///< 1 / sqrt(variance + epsilon)
  float* scale = nullptr;     ///< gamma / sqrt(variance + epsilon)
  float* offset = nullptr;    ///< beta - mean scale
  // The "gradients" of the moving statistics: statistics_share times mean and variance.
  float* statistics_mean = nullptr;
  float* statistics_variance = nullptr;  ///< times total / (total - 1), if `unbiased` and total > 1
  float statistics_share = 1.0F;
  bool unbiased = false;
};

/// Mean, variance and derived values from sums over `total` positions (0: both are zero). gamma null: 1; beta null: 0.
void batch_norm_moments(const Launch& at, const double* sum, const double* sum_sq, const BatchNormTotal& total,
                        float epsilon, const float* gamma, const float* beta, std::int64_t channels,
                        const BatchNormMoments& moments);

/// batch_norm_sums and batch_norm_moments for one replica; the sums are not written.
void batch_norm_statistics(const Launch& at, DType type, const void* x, std::int64_t positions, float epsilon,
                           const float* gamma, const float* beta, std::int64_t channels, double* workspace,
                           const BatchNormMoments& moments);

/// scale, offset and inv_std (each may be null) from a given mean and variance, such as moving statistics.
void batch_norm_coefficients(const Launch& at, const float* mean, const float* variance, const float* gamma,
                             const float* beta, float epsilon, std::int64_t channels, float* scale, float* offset,
                             float* inv_std);

/// to[c] = share from[c]; to == from allowed. For unchanged statistics (inference mode).
void batch_norm_share(const Launch& at, const float* from, float share, std::int64_t channels, float* to);

/// The normalization as an affine map, with fused operations.
struct BatchNormAffine {
  const float* scale = nullptr;   ///< [channels]
  const float* offset = nullptr;  ///< [channels]
  const void* addend = nullptr;   ///< null or [positions, channels]; added before rounding
  bool relu = false;              ///< applied last; NaN propagates
};

/// y = x scale[c] + offset[c] + addend, then max(y, 0) if `relu`; y == x and y == addend allowed.
void batch_norm_apply(const Launch& at, DType type, const void* x, const BatchNormAffine& affine,
                      std::int64_t positions, std::int64_t channels, void* y);

/// Arguments of a gradient. A fused ReLU passes dy where its output is positive, according to `output` (the forward's
/// y) or, without an addend, recomputed from x, `scale` and `offset`. Both give the same result.
struct BatchNormGradient {
  const void* x = nullptr;
  const void* dy = nullptr;
  const void* output = nullptr;    ///< may be null
  const float* mean = nullptr;     ///< [channels]
  const float* inv_std = nullptr;  ///< [channels]
  const float* scale = nullptr;    ///< [channels], or null; null if `output` is set
  const float* offset = nullptr;   ///< [channels], if scale is set
};

/// Sums of dy and of dy xhat; rounded to float, the gradients of beta and gamma (each may be null). `masked` (may be
/// null) receives the dy that the ReLU passes; masked == dy allowed.
void batch_norm_gradient_sums(const Launch& at, DType type, const BatchNormGradient& gradient, std::int64_t positions,
                              std::int64_t channels, double* workspace, const BatchNormSums& sums,
                              float* gamma_gradient, float* beta_gradient, void* masked = nullptr);

/// dx = gamma inv_std (dy - sum_dy / total - xhat sum_dy_xhat / total), with sums rounded to float first.
/// gamma null: 1. dx == dy allowed.
void batch_norm_gradient_apply(const Launch& at, DType type, const BatchNormGradient& gradient, const float* gamma,
                               const double* sum_dy, const double* sum_dy_xhat, const BatchNormTotal& total,
                               std::int64_t positions, std::int64_t channels, void* dx);

/// dx = dy factor[c], for constant statistics (not read). Reads x only if gradient.scale is set. dx == dy allowed.
void batch_norm_gradient_frozen(const Launch& at, DType type, const BatchNormGradient& gradient, const float* factor,
                                std::int64_t positions, std::int64_t channels, void* dx);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
