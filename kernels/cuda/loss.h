#pragma once

// Losses, with the equations of kernels/cpu/loss.h and softmax.h. Predictions are [rows, width]
// in any type and read as float; a loss is one float per row, not scaled. Everything lies in device memory and is
// queued on the launch's stream; the host waits for nothing: add_sum adds the rows up into a double on the device. With
// no rows nothing is done.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/step_state.h"

namespace dptrain::kernels::DPTRAIN_GPU {

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

// The others compute in double: their rows are few or short, and a clip at 1 - 1e-7 asks for more digits than a float
// has.

/// Keras's CategoricalCrossentropy on probabilities: q = clip(p / sum p, 1e-7, 1 - 1e-7), loss = -sum y' ln q. The
/// gradient is zero where the clip is active.
void categorical_cross_entropy(const Launch& at, DType type, const void* probabilities, std::int64_t rows,
                               std::int64_t classes, const LossTargets& targets, const LossOutputs& outputs);

/// loss = mean over the row of -(y' ln q + (1 - y') ln(1 - q)), q = clip(p, 1e-7, 1 - 1e-7).
void binary_cross_entropy(const Launch& at, DType type, const void* probabilities, std::int64_t rows,
                          std::int64_t width, const LossTargets& targets, const LossOutputs& outputs);

/// loss = mean over the row of max(z, 0) - z y' + ln(1 + exp(-|z|)).
void binary_cross_entropy_from_logits(const Launch& at, DType type, const void* logits, std::int64_t rows,
                                      std::int64_t width, const LossTargets& targets, const LossOutputs& outputs);

/// loss = mean over the row of (p - y)^2.
void mean_squared_error(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t width,
                        const LossTargets& targets, const LossOutputs& outputs);

/// loss = mean over the row of |p - y|; the gradient at p == y is zero.
void mean_absolute_error(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t width,
                         const LossTargets& targets, const LossOutputs& outputs);

/// Rows of a loss and of its gradient ([rows, width] in `type`; may be null) times weights[class of the row]: its
/// label, the first largest dense target, or with width 1 the number itself, rounded. A class outside [0, count) has 1.
void weigh_by_class(const Launch& at, DType type, const LossTargets& targets, std::int64_t rows, std::int64_t width,
                    const float* weights, std::int64_t count, float* loss, void* gradient);

/// The `parts` losses of each row, and its gradient ([rows, width] in `type`; may be null), times weights[row].
void weigh_by_sample(const Launch& at, DType type, const float* weights, std::int64_t rows, std::int64_t parts,
                     std::int64_t width, float* loss, void* gradient);

/// Doubles of workspace for add_sum, whatever n.
std::int64_t add_sum_workspace();

/// *sum += factor (values[0] + ... + values[n - 1]), in double and in an order that depends on n alone.
void add_sum(const Launch& at, const float* values, std::int64_t n, double factor, double* workspace, double* sum);
void add_sum(const Launch& at, const std::int32_t* values, std::int64_t n, double factor, double* workspace,
             double* sum);

}  // namespace dptrain::kernels::DPTRAIN_GPU
