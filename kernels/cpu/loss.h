#pragma once

// Losses that are not in loss_passes.h, weights of rows, and sums over rows. A loss is one float per row, unscaled; the
// gradient of the predictions is multiplied by `gradient_scale` and may overwrite these. Conventions: parallel.h.

#include <cstdint>

#include "kernels/cpu/launch.h"
#include "kernels/cpu/loss_passes.h"

namespace dptrain::kernels::cpu {

/// loss = -sum y' log softmax(logits); gradient = scale (softmax(logits) sum y' - y').
void softmax_cross_entropy(const Launch& at, DType type, const float* logits, int64_t rows, int64_t classes,
                           const LossTargets& targets, const LossOutputs& outputs);

/// Keras's CategoricalCrossentropy: q = clip(p / sum p, 1e-7, 1 - 1e-7), loss = -sum y' ln q; gradient 0 where clipped.
void categorical_cross_entropy(const Launch& at, DType type, const float* probabilities, int64_t rows, int64_t classes,
                               const LossTargets& targets, const LossOutputs& outputs);

/// loss = max(0, max((1 - y) p) - sum y p + 1); tied maxima share the gradient. Dense targets.
void categorical_hinge(const Launch& at, DType type, const LossRows& rows);

/// Multiplies the loss and the gradient ([rows, width]; may be null) of each row by weights[class]: the label, the
/// first largest dense target, or with width 1 the rounded target. The weight of a class outside [0, count) is 1.
void weigh_by_class(const Launch& at, DType type, const LossTargets& targets, int64_t rows, int64_t width,
                    const float* weights, int64_t count, float* loss, float* gradient);

/// Multiplies the `parts` losses and the gradient ([rows, width]; may be null) of each row by weights[row].
void weigh_by_sample(const Launch& at, DType type, const float* weights, int64_t rows, int64_t parts, int64_t width,
                     float* loss, float* gradient);

/// Zeroes the gradients of rows whose mask is 0; multiplies all others by *scale.
void mask_gradient(const Launch& at, DType type, const uint8_t* mask, int64_t rows, int64_t width, const float* scale,
                   float* gradient);

inline int64_t add_sum_workspace() { return 0; }

/// *sum += (values[0] + ... + values[n - 1]) / divisor, in order, in double. Skips values whose mask, if any, is 0.
template <class T>
void add_sum(const Launch&, const T* values, int64_t n, double divisor, double* /*workspace*/, double* sum,
             const uint8_t* mask = nullptr) {
  double all = 0.0;
  for (int64_t i = 0; i < n; ++i)
    if (mask == nullptr || mask[i] != 0) all += static_cast<double>(values[i]);
  *sum += all / divisor;
}

}  // namespace dptrain::kernels::cpu
