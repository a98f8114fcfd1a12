#pragma once

// Softmax and its logarithm over the last axis of [rows, classes], and softmax with cross-entropy in one pass. May be
// called from any thread; work is shared among the caller's threads. Outputs are overwritten.

#include <cstdint>

#include "kernels/cpu/launch.h"

namespace dptrain::kernels::cpu {

/// y = softmax(x), the largest value subtracted first; y == x allowed.
void softmax_forward(const Launch&, DType, const float* x, int64_t rows, int64_t classes, float* y);

/// dx = y (dy - sum(y dy)); dx == dy allowed.
void softmax_backward(const Launch&, DType, const float* y, const float* dy, int64_t rows, int64_t classes, float* dx);

/// y = ln softmax(x) = x - max - ln sum(e^(x - max)); y == x allowed.
void log_softmax_forward(const Launch&, DType, const float* x, int64_t rows, int64_t classes, float* y);

/// dx = dy - e^y sum(dy); dx == dy allowed.
void log_softmax_backward(const Launch&, DType, const float* y, const float* dy, int64_t rows, int64_t classes,
                          float* dx);

/// What the targets of a classification are: exactly one of the two pointers is set.
struct ClassTargets {
  const int32_t* labels = nullptr;  ///< [rows], each in [0, classes); others give a loss and gradients of NaN
  const float* dense = nullptr;     ///< [rows, classes]
  float label_smoothing = 0.0F;     ///< s: y' = y (1 - s) + s / classes
};

/// Where the results go. Any pointer may be null.
struct ClassLossOutputs {
  float* loss = nullptr;      ///< [rows], not scaled
  float* gradient = nullptr;  ///< [rows, classes], with respect to the predictions; may be the predictions' own array
  float gradient_scale = 1.0F;
  uint8_t* hit = nullptr;  ///< [rows], 1 where the first largest prediction is at the label (the first largest target)
};

/// loss = -sum y' log softmax(logits); gradient = scale (softmax(logits) sum y' - y').
void softmax_cross_entropy(const float* logits, int64_t rows, int64_t classes, const ClassTargets& targets,
                           const ClassLossOutputs& outputs);

}  // namespace dptrain::kernels::cpu
