#pragma once

// Batch normalisation over [positions, channels] (positions = rows * height * width) in stages, so that replicas can
// put their sums together between them, as in kernels/cpu/batch_norm.h. Sums are in double: how positions are cut into
// pieces and among replicas moves a sum by 1e-16 of its terms, which the rounding to float all but never lets through.
// Activations (x, y, dy, dx, output) are of `type` and read as float; vectors of channels are float, sums double. All
// pointers are device memory; queued on the launch's stream. Outputs are overwritten.
//
// Training, forward: statistics, apply; where replicas put their sums together: sums, all-gather, add_messages,
// moments, apply. Backward: gradient_sums, [all-gather, add_messages], gradient_apply. Inference: coefficients, apply,
// and backward gradient_sums, gradient_frozen.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Doubles of workspace for batch_norm_sums and batch_norm_gradient_sums; rises with positions.
std::int64_t batch_norm_workspace(DType type, std::int64_t positions, std::int64_t channels);

/// What replicas gather, in this order: positions, sum[channels], product[channels].
struct BatchNormSums {
  double* count = nullptr;    ///< set to positions; null: not written
  double* sum = nullptr;      ///< forward: of x; backward: of dy
  double* product = nullptr;  ///< forward: of x^2; backward: of dy (x - mean) inv_std
};

/// Doubles of a message.
constexpr std::int64_t batch_norm_message(std::int64_t channels) { return 1 + 2 * channels; }

/// The sums that a message consists of.
inline BatchNormSums batch_norm_message_sums(double* message, std::int64_t channels) {
  return {.count = message, .sum = message + 1, .product = message + 1 + channels};
}

/// Positions that sums were taken over: `counted` in device memory (a message's first double), or, where that is null,
/// `known`.
struct BatchNormTotal {
  const double* counted = nullptr;
  std::int64_t known = 0;
};

/// Sums of x and x^2. With positions == 0 all are zero.
void batch_norm_sums(const Launch& at, DType type, const void* x, std::int64_t positions, std::int64_t channels,
                     double* workspace, const BatchNormSums& sums);

/// message = the sum of `replicas` messages one behind the other in `gathered`, added in rank order.
void batch_norm_add_messages(const Launch& at, const double* gathered, int replicas, std::int64_t channels,
                             double* message);

/// What batch_norm_moments writes, [channels] each; any may be null.
struct BatchNormMoments {
  float* mean = nullptr;
  float* variance = nullptr;  ///< biased
  float* inv_std = nullptr;   ///< 1 / sqrt(variance + epsilon)
  float* scale = nullptr;     ///< gamma / sqrt(variance + epsilon)
  float* offset = nullptr;    ///< beta - mean scale
  // The moving statistics' "gradients": statistics_share times mean and variance.
  float* statistics_mean = nullptr;
  float* statistics_variance = nullptr;  ///< times total / (total - 1), if `unbiased` and total > 1
  float statistics_share = 1.0F;
  bool unbiased = false;
};

/// Mean and variance of `total` positions from their sums, and all that is made of them; of no positions: zero mean and
/// variance. gamma null: 1; beta null: 0.
void batch_norm_moments(const Launch& at, const double* sum, const double* sum_sq, const BatchNormTotal& total,
                        float epsilon, const float* gamma, const float* beta, std::int64_t channels,
                        const BatchNormMoments& moments);

/// batch_norm_sums and batch_norm_moments of one replica's positions, the sums not written.
void batch_norm_statistics(const Launch& at, DType type, const void* x, std::int64_t positions, float epsilon,
                           const float* gamma, const float* beta, std::int64_t channels, double* workspace,
                           const BatchNormMoments& moments);

/// scale, offset and inv_std (each may be null) from a mean and a variance that are given (moving statistics).
void batch_norm_coefficients(const Launch& at, const float* mean, const float* variance, const float* gamma,
                             const float* beta, float epsilon, std::int64_t channels, float* scale, float* offset,
                             float* inv_std);

/// to[c] = share from[c]; to == from allowed. For statistics that are handed on as they are (inference mode).
void batch_norm_share(const Launch& at, const float* from, float share, std::int64_t channels, float* to);

/// What the normalisation comes down to, and what is done with it in the same pass.
struct BatchNormAffine {
  const float* scale = nullptr;   ///< [channels]
  const float* offset = nullptr;  ///< [channels]
  const void* addend = nullptr;   ///< or [positions, channels], added before anything is rounded
  bool relu = false;              ///< at last; NaN passes
};

/// y = x scale[c] + offset[c] + addend, then max(y, 0) if `relu`; y == x and y == addend allowed.
void batch_norm_apply(const Launch& at, DType type, const void* x, const BatchNormAffine& affine,
                      std::int64_t positions, std::int64_t channels, void* y);

/// What a gradient is taken through. A ReLU lets dy pass where its output was positive; how that is known, if there was
/// one: from `output` (the forward's y), or, without an addend, from x by the forward's scale and offset, which saves
/// reading y and gives the same answer.
struct BatchNormGradient {
  const void* x = nullptr;
  const void* dy = nullptr;
  const void* output = nullptr;    ///< or null
  const float* mean = nullptr;     ///< [channels]
  const float* inv_std = nullptr;  ///< [channels]
  const float* scale = nullptr;    ///< [channels], or null; not beside `output`
  const float* offset = nullptr;   ///< [channels], where scale is given
};

/// Sums of dy and of dy xhat. Rounded to float they are the gradients of beta and gamma, written where these are not
/// null. `masked`, if not null, gets dy as the ReLU lets it pass; masked == dy allowed.
void batch_norm_gradient_sums(const Launch& at, DType type, const BatchNormGradient& gradient, std::int64_t positions,
                              std::int64_t channels, double* workspace, const BatchNormSums& sums,
                              float* gamma_gradient, float* beta_gradient, void* masked = nullptr);

/// dx = gamma inv_std (dy - sum_dy / total - xhat sum_dy_xhat / total), the sums rounded to float first. gamma null: 1.
/// dx == dy allowed.
void batch_norm_gradient_apply(const Launch& at, DType type, const BatchNormGradient& gradient, const float* gamma,
                               const double* sum_dy, const double* sum_dy_xhat, const BatchNormTotal& total,
                               std::int64_t positions, std::int64_t channels, void* dx);

/// dx where mean and variance were constants: dx = dy factor[c]. Of the gradient, x is read only with its scale, mean
/// and inv_std never. dx == dy allowed.
void batch_norm_gradient_frozen(const Launch& at, DType type, const BatchNormGradient& gradient, const float* factor,
                                std::int64_t positions, std::int64_t channels, void* dx);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
