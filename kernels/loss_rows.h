#pragma once

// Arguments of loss and metric kernels for CPUs and GPUs. Plain data without ownership.

#include <cstdint>

#include "kernels/step_state.h"

namespace dptrain::kernels {

/// Targets of rows: one of the pointers is set. A label means a one-hot row or, for one element, the value itself.
struct LossTargets {
  const std::int32_t* labels = nullptr;  ///< [rows]; outside [0, width) classification losses and gradients are NaN
  const float* dense = nullptr;          ///< [rows, width]
  float label_smoothing = 0.0F;          ///< s: y' = y (1 - s) + s / classes; only for class losses
};

/// Results of a loss. Any pointer may be null. `Element` and `Hit` are float and a byte on CPUs, void (named by a
/// DType) and std::int32_t on GPUs.
template <class Element, class Hit>
struct LossOutputsOf {
  float* loss = nullptr;        ///< [rows], not scaled
  Element* gradient = nullptr;  ///< [rows, width], with respect to the predictions; may overwrite them
  float gradient_scale = 1.0F;
  const LossScale* loss_scale = nullptr;  ///< GPUs: another factor of the gradient, its `scale`
  Hit* hit = nullptr;  ///< [rows], as categorical_hits; only softmax and categorical crossentropy write it
};

template <class Element, class Hit>
struct LossRowsOf {
  const Element* predictions = nullptr;  ///< [rows, width]
  std::int64_t rows = 0, width = 0;
  LossTargets targets{};
  LossOutputsOf<Element, Hit> outputs{};
};

}  // namespace dptrain::kernels
