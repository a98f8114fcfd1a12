#pragma once

// Losses, with the equations of kernels/cpu/loss.h. Predictions are [rows, width] in any type and read as float; a loss
// is one float per row, not scaled. All pointers are device memory, and kernels are queued on the launch's stream; the
// host does not wait: add_sum adds the rows up into a double on the device. Without rows nothing is done.

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

/// Keras's CategoricalCrossentropy on probabilities: q = clip(p / sum p, 1e-7, 1 - 1e-7), loss = -sum y' ln q. The
/// gradient is zero where the clip is active. In double: a clip at 1 - 1e-7 needs more digits than a float has.
void categorical_cross_entropy(const Launch& at, DType type, const void* probabilities, std::int64_t rows,
                               std::int64_t classes, const LossTargets& targets, const LossOutputs& outputs);

/// loss = mean (or sum, of an F with kSumsElements) of f(prediction, target) over the row; the F of kernels/losses.h
/// (losses.cu instantiates it). In double, as all that follow.
template <class F>
void element_loss(const Launch& at, DType type, const LossRows& rows, const F& f);
/// loss = sum of f(q, y') over the classes; of probabilities q = p / sum p, of logits softmax(z).
template <class F>
void class_loss(const Launch& at, DType type, const LossRows& rows, bool logits, const F& f);
/// A number for each sum over the middle one of the axes [rows, width, inner]: loss is [rows, inner]. Labels that are
/// classes only with an `inner` of 1.
template <class F>
void sums_loss(const Launch& at, DType type, const LossRows& rows, std::int64_t inner, const F& f);
/// loss = max(0, largest (1 - y) p - sum y p + 1); places that share the largest share its gradient.
void categorical_hinge(const Launch& at, DType type, const LossRows& rows);

/// Rows of a loss and of its gradient ([rows, width] in `type`; may be null) times weights[class of the row]: its
/// label, the first largest dense target, or with width 1 the number itself, rounded. A class outside [0, count) has 1.
void weigh_by_class(const Launch& at, DType type, const LossTargets& targets, std::int64_t rows, std::int64_t width,
                    const float* weights, std::int64_t count, float* loss, void* gradient);

/// The `parts` losses of each row, and its gradient ([rows, width] in `type`; may be null), times weights[row].
void weigh_by_sample(const Launch& at, DType type, const float* weights, std::int64_t rows, std::int64_t parts,
                     std::int64_t width, float* loss, void* gradient);

/// Doubles of workspace for add_sum, whatever n.
std::int64_t add_sum_workspace();

/// *sum += (values[0] + ... + values[n - 1]) / divisor, in double and in an order that depends on n alone. Without the
/// values whose mask is 0; a null mask: all.
void add_sum(const Launch& at, const float* values, std::int64_t n, double divisor, double* workspace, double* sum,
             const std::uint8_t* mask = nullptr);
void add_sum(const Launch& at, const std::int32_t* values, std::int64_t n, double divisor, double* workspace,
             double* sum, const std::uint8_t* mask = nullptr);

/// Gradients ([rows, width] in `type`) of rows whose mask is 0 become zero, all others *scale times themselves.
void leave_out(const Launch& at, DType type, const std::uint8_t* mask, std::int64_t rows, std::int64_t width,
               const float* scale, void* gradient);

/// *valid += the ones among n bytes that are 1 or 0.
void count_valid(const Launch& at, const std::uint8_t* mask, std::int64_t n, double* valid);

/// *scale = positions / (valid[0] + valid[stride] + ... of all ranks + epsilon).
void mask_scale(const Launch& at, const double* valid, int ranks, std::int64_t stride, double positions, double epsilon,
                float* scale);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
