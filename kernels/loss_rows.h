#pragma once

// Arguments of the kernels of losses and metrics, the same for CPUs and GPUs. Plain data; nothing is owned.

#include <cstdint>

#include "kernels/step_state.h"

namespace dptrain::kernels {

/// Targets of rows; exactly one of the two pointers is set. A class label equals a one-hot row. Losses that compare
/// elements use the label itself where rows have a single element.
struct LossTargets {
  const std::int32_t* labels = nullptr;  ///< [rows]; outside [0, width): classification losses and gradients are NaN
  const float* dense = nullptr;          ///< [rows, width]
  float label_smoothing = 0.0F;          ///< s: y' = y (1 - s) + s / classes; read by the losses of classes alone
};

/// Where the results of a loss are written. Any pointer may be null. `Element` and `Hit` are a backend's types: float
/// and a byte of CPUs, void (named by a DType) and std::int32_t of GPUs.
template <class Element, class Hit>
struct LossOutputsOf {
  float* loss = nullptr;        ///< [rows], not scaled
  Element* gradient = nullptr;  ///< [rows, width] with respect to the predictions, which it may overwrite
  float gradient_scale = 1.0F;
  const LossScale* loss_scale = nullptr;  ///< GPUs: the gradient is multiplied by its scale as well
  Hit* hit = nullptr;  ///< [rows], as categorical_hits; written by softmax_ and categorical_cross_entropy
};

/// Rows of predictions with their targets.
template <class Element, class Hit>
struct LossRowsOf {
  const Element* predictions = nullptr;  ///< [rows, width]
  std::int64_t rows = 0, width = 0;
  LossTargets targets{};
  LossOutputsOf<Element, Hit> outputs{};
};

}  // namespace dptrain::kernels
