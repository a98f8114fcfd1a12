#pragma once

// Targets of rows as numbers and as classes, for passes over rows of predictions. Only for .cu files.

#include "kernels/cuda/loss.h"
#include "kernels/cuda/rows.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Target of element c for element losses: a label is one-hot or, for one element, the value itself.
__device__ inline float element_target(const LossTargets& targets, std::int64_t row, std::int64_t width,
                                       std::int64_t c) {
  if (targets.dense != nullptr) return targets.dense[row * width + c];
  const std::int64_t label = targets.labels[row];
  if (width == 1) return static_cast<float>(label);
  return label == c ? 1.0F : 0.0F;
}

/// The true class: the label, or the index of the first largest dense target.
template <class Group>
__device__ std::int64_t class_of(const LossTargets& targets, std::int64_t row, std::int64_t classes) {
  if (targets.dense == nullptr) return targets.labels[row];
  const float* const target = targets.dense + row * classes;
  return first_of<Group>(target, classes, largest_of<Group>(target, classes));
}

/// Smoothed targets of a row's classes: y' = y (1 - s) + s / classes; NaN if the label is not a class.
template <class Number>
struct SmoothedRow {
  const float* dense;
  std::int64_t label;
  Number keep, spread, off;

  __device__ SmoothedRow(const LossTargets& targets, std::int64_t row, std::int64_t classes)
      : dense(targets.dense == nullptr ? nullptr : targets.dense + row * classes),
        label(targets.dense == nullptr ? targets.labels[row] : 0),
        keep(Number{1} - static_cast<Number>(targets.label_smoothing)),
        spread(static_cast<Number>(targets.label_smoothing) / static_cast<Number>(classes)),
        off(label >= 0 && label < classes ? spread : static_cast<Number>(NAN)) {}

  __device__ Number operator[](std::int64_t c) const {
    if (dense != nullptr) return static_cast<Number>(dense[c]) * keep + spread;
    return c == label ? off + keep : off;
  }
};

__device__ inline float gradient_factor(const LossOutputs& outputs) {
  return outputs.gradient_scale * (outputs.loss_scale == nullptr ? 1.0F : outputs.loss_scale->scale);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
