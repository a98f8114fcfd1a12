#pragma once

// Losses that are no pass of loss_passes.h, weights of rows, and sums over rows. A loss is one float per row, not
// scaled; the gradient with respect to the predictions is multiplied by `gradient_scale` and may overwrite the
// predictions. May be called from any thread; work is shared among the caller's threads.

#include <cstdint>

#include "kernels/cpu/launch.h"
#include "kernels/cpu/loss_passes.h"

namespace dptrain::kernels::cpu {

/// loss = -sum y' log softmax(logits); gradient = scale (softmax(logits) sum y' - y').
void softmax_cross_entropy(const Launch& at, DType type, const float* logits, int64_t rows, int64_t classes,
                           const LossTargets& targets, const LossOutputs& outputs);

/// Keras's CategoricalCrossentropy on probabilities: q = clip(p / sum p, 1e-7, 1 - 1e-7), loss = -sum y' ln q. The
/// gradient is zero where the clip is active.
void categorical_cross_entropy(const Launch& at, DType type, const float* probabilities, int64_t rows, int64_t classes,
                               const LossTargets& targets, const LossOutputs& outputs);

/// loss = max(0, largest (1 - y) p - sum y p + 1); places that share the largest share its gradient. Dense targets.
void categorical_hinge(const Launch& at, DType type, const LossRows& rows);

/// Rows of a loss and of its gradient ([rows, width]; may be null) times weights[class of the row]: its label, the
/// first largest dense target, or with width 1 the number itself, rounded. A class outside [0, count) has 1.
void weigh_by_class(const Launch& at, DType type, const LossTargets& targets, int64_t rows, int64_t width,
                    const float* weights, int64_t count, float* loss, float* gradient);

/// The `parts` losses of each row, and its gradient ([rows, width]; may be null), times weights[row].
void weigh_by_sample(const Launch& at, DType type, const float* weights, int64_t rows, int64_t parts, int64_t width,
                     float* loss, float* gradient);

/// Gradients of rows whose mask is 0 become zero, all others *scale times themselves.
void leave_out(const Launch& at, DType type, const uint8_t* mask, int64_t rows, int64_t width, const float* scale,
               float* gradient);

/// Doubles of workspace for add_sum.
inline int64_t add_sum_workspace() { return 0; }

/// *sum += (values[0] + ... + values[n - 1]) / divisor, in order, in double. Without the values whose mask is 0; a null
/// mask: all.
template <class T>
void add_sum(const Launch&, const T* values, int64_t n, double divisor, double* /*workspace*/, double* sum,
             const uint8_t* mask = nullptr) {
  double all = 0.0;
  for (int64_t i = 0; i < n; ++i)
    if (mask == nullptr || mask[i] != 0) all += static_cast<double>(values[i]);
  *sum += all / divisor;
}

}  // namespace dptrain::kernels::cpu
