#pragma once

// Losses that are not softmax cross-entropy and no pass of loss_passes.h. Predictions are [rows, width]; a loss
// is one float per row, not scaled; the gradient with respect to the predictions is multiplied by `gradient_scale`
// (the caller's 1 / valid samples). `loss` and `gradient` may be null; the gradient may overwrite the predictions.
// May be called from any thread; work is shared among the caller's threads.

#include <cstdint>

#include "kernels/cpu/loss_passes.h"
#include "kernels/cpu/softmax.h"

namespace dptrain::kernels::cpu {

/// Keras's CategoricalCrossentropy on probabilities: q = clip(p / sum p, 1e-7, 1 - 1e-7), loss = -sum y' ln q. The
/// gradient is zero where the clip is active.
void categorical_cross_entropy(const float* probabilities, int64_t rows, int64_t classes, const ClassTargets& targets,
                               const ClassLossOutputs& outputs);

/// loss = max(0, largest (1 - y) p - sum y p + 1); places that share the largest share its gradient.
void categorical_hinge(const ValueRows& rows);

/// factor[row] = weights[class of the row]: its label, the first largest dense target, or with one class the number
/// itself, rounded. A class outside [0, count) has 1.
void class_factors(const ClassTargets& targets, int64_t rows, int64_t classes, const float* weights, int64_t count,
                   float* factor);

/// Gradients of rows whose mask is 0 become zero, all others scale times themselves.
void leave_out(const std::uint8_t* mask, int64_t rows, int64_t width, float scale, float* gradient);

/// x[row] *= factor[row] for rows of `width` elements.
void scale_rows(float* x, int64_t rows, int64_t width, const float* factor);

}  // namespace dptrain::kernels::cpu
