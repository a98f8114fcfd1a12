#pragma once

// Losses, with the equations of kernels/cpu/loss.h: one unscaled float per row of predictions [rows, width]. Calls
// without rows do nothing.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/loss_rows.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

using Hit = std::int32_t;  ///< 1 or 0
using LossOutputs = LossOutputsOf<void, Hit>;
using LossRows = LossRowsOf<void, Hit>;

/// loss = -sum y' log softmax(logits); gradient = scale (softmax(logits) sum y' - y'). In float.
void softmax_cross_entropy(const Launch& at, DType type, const void* logits, std::int64_t rows, std::int64_t classes,
                           const LossTargets& targets, const LossOutputs& outputs);

/// Keras's CategoricalCrossentropy of probabilities: q = clip(p / sum p, 1e-7, 1 - 1e-7), loss = -sum y' ln q. The
/// gradient is zero where the clip is active. In double: a clip at 1 - 1e-7 needs more digits than float has.
void categorical_cross_entropy(const Launch& at, DType type, const void* probabilities, std::int64_t rows,
                               std::int64_t classes, const LossTargets& targets, const LossOutputs& outputs);

/// loss = mean of f(prediction, target) over the row, or the sum if F has kSumsElements. F is a type of
/// kernels/losses.h, instantiated in losses.cu. In double, like all losses below.
template <class F>
void element_loss(const Launch& at, DType type, const LossRows& rows, const F& f);
/// loss = sum of f(q, y') over the classes, where q is p / sum p for probabilities and softmax(z) for logits.
template <class F>
void class_loss(const Launch& at, DType type, const LossRows& rows, bool logits, const F& f);
/// Losses of sums over the middle axis of [rows, width, inner]: loss is [rows, inner]. Class labels require inner == 1.
template <class F>
void sums_loss(const Launch& at, DType type, const LossRows& rows, std::int64_t inner, const F& f);
/// loss = max(0, largest (1 - y) p - sum y p + 1); elements that tie for the largest share its gradient.
void categorical_hinge(const Launch& at, DType type, const LossRows& rows);

/// Multiplies each row of a loss and of its gradient ([rows, width] in `type`; may be null) by weights[class]. The
/// class is the label, the index of the first largest dense target or, with width 1, the rounded target. Classes
/// outside [0, count) have weight 1.
void weigh_by_class(const Launch& at, DType type, const LossTargets& targets, std::int64_t rows, std::int64_t width,
                    const float* weights, std::int64_t count, float* loss, void* gradient);

/// Multiplies the `parts` losses of each row and its gradient ([rows, width] in `type`; may be null) by weights[row].
void weigh_by_sample(const Launch& at, DType type, const float* weights, std::int64_t rows, std::int64_t parts,
                     std::int64_t width, float* loss, void* gradient);

/// Doubles of workspace for add_sum, for any n.
std::int64_t add_sum_workspace();

/// *sum += (values[0] + ... + values[n - 1]) / divisor, in double, in an order that depends only on n. Skips values
/// whose mask is 0; mask may be null.
void add_sum(const Launch& at, const float* values, std::int64_t n, double divisor, double* workspace, double* sum,
             const std::uint8_t* mask = nullptr);
void add_sum(const Launch& at, const std::int32_t* values, std::int64_t n, double divisor, double* workspace,
             double* sum, const std::uint8_t* mask = nullptr);

/// Sets gradients ([rows, width] in `type`) of rows whose mask is 0 to zero, and multiplies the others by *scale.
void mask_gradient(const Launch& at, DType type, const std::uint8_t* mask, std::int64_t rows, std::int64_t width,
                   const float* scale, void* gradient);

/// mask[i] = 1 if labels[i] != ignored, else 0.
void mask_labels(const Launch& at, const std::int32_t* labels, std::int64_t n, std::int32_t ignored,
                 std::uint8_t* mask);
/// mask[i] = 0 if the first value of row i of labels [n, width] is negative, else 1.
void mask_labels(const Launch& at, const float* labels, std::int64_t n, std::int64_t width, std::uint8_t* mask);

/// *valid += number of ones in the mask of n bytes, each 0 or 1.
void count_valid(const Launch& at, const std::uint8_t* mask, std::int64_t n, double* valid);

/// *scale = positions / (sum + epsilon), where sum = valid[0] + valid[stride] + ... over all ranks.
void mask_scale(const Launch& at, const double* valid, int ranks, std::int64_t stride, double positions, double epsilon,
                float* scale);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
