#pragma once

// Losses other than softmax cross-entropy. Predictions are [rows, width]; a loss
// is one float per row, not scaled; the gradient with respect to the predictions is multiplied by `gradient_scale`
// (the caller's 1 / valid samples). `loss` and `gradient` may be null; the gradient may overwrite the predictions.
// May be called from any thread; work is shared among the caller's threads.

#include <cstdint>

#include "kernels/cpu/softmax.h"

namespace dptrain::kernels::cpu {

/// Keras's clip of probabilities, epsilon().
inline constexpr float kProbabilityEpsilon = 1e-7F;

/// Keras's CategoricalCrossentropy on probabilities: q = clip(p / sum p, 1e-7, 1 - 1e-7), loss = -sum y' ln q. The
/// gradient is zero where the clip is active.
void categorical_cross_entropy(const float* probabilities, int64_t rows, int64_t classes, const ClassTargets& targets,
                               const ClassLossOutputs& outputs);

/// loss = mean over the row of -(y' ln q + (1 - y') ln(1 - q)), q = clip(p, 1e-7, 1 - 1e-7), y' = y (1 - s) + s / 2.
void binary_cross_entropy(const float* probabilities, const float* targets, int64_t rows, int64_t width,
                          float label_smoothing, float* loss, float* gradient, float gradient_scale);

/// loss = mean over the row of max(z, 0) - z y' + ln(1 + exp(-|z|)).
void binary_cross_entropy_from_logits(const float* logits, const float* targets, int64_t rows, int64_t width,
                                      float label_smoothing, float* loss, float* gradient, float gradient_scale);

/// loss = mean over the row of (p - y)^2.
void mean_squared_error(const float* predictions, const float* targets, int64_t rows, int64_t width, float* loss,
                        float* gradient, float gradient_scale);

/// loss = mean over the row of |p - y|; the gradient at p == y is zero.
void mean_absolute_error(const float* predictions, const float* targets, int64_t rows, int64_t width, float* loss,
                         float* gradient, float gradient_scale);

/// factor[row] = weights[class of the row]: its label, the first largest dense target, or with one class the number
/// itself, rounded. A class outside [0, count) has 1.
void class_factors(const ClassTargets& targets, int64_t rows, int64_t classes, const float* weights, int64_t count,
                   float* factor);

/// x[row] *= factor[row] for rows of `width` elements.
void scale_rows(float* x, int64_t rows, int64_t width, const float* factor);

}  // namespace dptrain::kernels::cpu
