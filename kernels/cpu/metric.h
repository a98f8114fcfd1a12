#pragma once

// What metrics count and sum row by row, besides what the softmax cross-entropy finds on its way. Predictions are
// [rows, classes]; a class label stands for a row with a one or, of one class, for the number itself.
// targets.label_smoothing has no effect. May be called from any thread; work is shared among the caller's threads.

#include <cstdint>

#include "kernels/cpu/softmax.h"

namespace dptrain::kernels::cpu {

/// hit[row] = 1 where the first largest score is at the label (or at the first largest dense target).
void categorical_hits(const float* scores, int64_t rows, int64_t classes, const ClassTargets& targets, uint8_t* hit);

/// hit[row] = 1 where fewer than k scores are strictly larger than the label's: ties at the border are hits. A score of
/// NaN at the label is no hit.
void top_k_hits(const float* scores, int64_t rows, int64_t classes, const ClassTargets& targets, int64_t k,
                uint8_t* hit);

/// hits[row] = number of values of the row with (prediction > threshold) == (target == 1).
void binary_hits(const float* predictions, int64_t rows, int64_t classes, const ClassTargets& targets, float threshold,
                 int32_t* hits);

/// error[row] = mean over the row of (p - y)^2.
void squared_errors(const float* predictions, int64_t rows, int64_t classes, const ClassTargets& targets, float* error);

/// error[row] = mean over the row of |p - y|.
void absolute_errors(const float* predictions, int64_t rows, int64_t classes, const ClassTargets& targets,
                     float* error);

}  // namespace dptrain::kernels::cpu
