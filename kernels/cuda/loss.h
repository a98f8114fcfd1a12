#pragma once

// Losses, with the equations of kernels/cpu/loss.h and softmax.h. Predictions are [rows, width]
// in any type and read as float; a loss is one float per row, not scaled. Everything lies in device memory and is
// queued on the launch's stream; the host waits for nothing: add_sum adds the rows up into a double on the device. With
// no rows nothing is done.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/step_state.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// What the predictions should have been: exactly one of the two pointers is set. A class stands for a row with a one,
/// or, where rows have a single element and the loss compares elements, for the number itself.
struct LossTargets {
  const std::int32_t* labels = nullptr;  ///< [rows]; outside [0, width): classification losses and gradients are NaN
  const float* dense = nullptr;          ///< [rows, width]
  float label_smoothing = 0.0F;  ///< s: y' = y (1 - s) + s / classes; binary: y (1 - s) + s / 2; else without effect
};

/// Where the results go. Any pointer may be null.
struct LossOutputs {
  float* loss = nullptr;     ///< [rows]
  void* gradient = nullptr;  ///< [rows, width] in the predictions' type, which it may overwrite
  float gradient_scale = 1.0F;
  const LossScale* loss_scale = nullptr;  ///< the gradient is multiplied by its scale too
  std::int32_t* hit = nullptr;            ///< [rows], as categorical_hits; only of the two classification losses
};

/// loss = -sum y' log softmax(logits); gradient = scale (softmax(logits) sum y' - y'). In float.
void softmax_cross_entropy(const Launch& at, DType type, const void* logits, std::int64_t rows, std::int64_t classes,
                           const LossTargets& targets, const LossOutputs& outputs);

/// Keras's CategoricalCrossentropy on probabilities: q = clip(p / sum p, 1e-7, 1 - 1e-7), loss = -sum y' ln q. The
/// gradient is zero where the clip is active. In double: a clip at 1 - 1e-7 asks for more digits than a float has.
void categorical_cross_entropy(const Launch& at, DType type, const void* probabilities, std::int64_t rows,
                               std::int64_t classes, const LossTargets& targets, const LossOutputs& outputs);

/// What a loss of kernels/losses/ reads and writes. In double.
struct LossRows {
  DType type = DType::kF32;
  const void* predictions = nullptr;  ///< [rows, width]
  std::int64_t rows = 0, width = 0;
  LossTargets targets{};
  LossOutputs outputs{};  ///< without `hit`
};

/// loss = mean (or sum, where F says so) of f(prediction, target) over the row. Each file of kernels/cuda/losses/
/// instantiates what its loss needs.
template <class F>
void element_loss(const Launch& at, const LossRows& rows, const F& f);
/// loss = sum of f(q, y') over the classes; of probabilities q = p / sum p, of logits softmax(z).
template <class F>
void class_loss(const Launch& at, const LossRows& rows, bool logits, const F& f);
/// A number for each sum over the middle one of the axes [rows, width, inner]: loss is [rows, inner]. Labels that are
/// classes only with an `inner` of 1.
template <class F>
void sums_loss(const Launch& at, const LossRows& rows, std::int64_t inner, const F& f);
/// loss = max(0, largest (1 - y) p - sum y p + 1); places that share the largest share its gradient.
void categorical_hinge(const Launch& at, const LossRows& rows);

/// Rows of a loss and of its gradient ([rows, width] in `type`; may be null) times weights[class of the row]: its
/// label, the first largest dense target, or with width 1 the number itself, rounded. A class outside [0, count) has 1.
void weigh_by_class(const Launch& at, DType type, const LossTargets& targets, std::int64_t rows, std::int64_t width,
                    const float* weights, std::int64_t count, float* loss, void* gradient);

/// The `parts` losses of each row, and its gradient ([rows, width] in `type`; may be null), times weights[row].
void weigh_by_sample(const Launch& at, DType type, const float* weights, std::int64_t rows, std::int64_t parts,
                     std::int64_t width, float* loss, void* gradient);

/// Doubles of workspace for add_sum, whatever n.
std::int64_t add_sum_workspace();

/// *sum += factor (values[0] + ... + values[n - 1]), in double and in an order that depends on n alone. Without the
/// values whose mask is 0; a null mask: all.
void add_sum(const Launch& at, const float* values, std::int64_t n, double factor, double* workspace, double* sum,
             const std::uint8_t* mask = nullptr);
void add_sum(const Launch& at, const std::int32_t* values, std::int64_t n, double factor, double* workspace,
             double* sum, const std::uint8_t* mask = nullptr);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
