#pragma once

// Metrics that count: every value or row falls into one of the bins of a metric's state, or into none (-1), and
// add_counts() counts how many did. Counts are whole numbers, so their sums are exact in any order. Predictions are
// [rows, classes]; a class label stands for a row with a one or, of one class, for the number itself. May be called
// from any thread; the bins are found by all of the caller's threads.

#include <cstdint>

#include "kernels/cpu/softmax.h"
#include "kernels/threshold_bins.h"

namespace dptrain::kernels::cpu {

/// bins[row, class] as ThresholdBins says; its thresholds lie in host memory.
void threshold_bins(const float* predictions, int64_t rows, int64_t classes, const ClassTargets& targets,
                    const ThresholdBins& what, int32_t* bins);

/// bins[row] = label * size + place of the first largest score; -1 where the label is `ignored` or where either is
/// outside [0, size).
void confusion_bins(const float* scores, int64_t rows, int64_t classes, const ClassTargets& targets, int64_t size,
                    int64_t ignored, int32_t* bins);

/// counts[bin] += how many of the n are that bin.
void add_counts(const int32_t* bins, int64_t n, double* counts);

/// sums[class] += {sum y, sum y^2, sum (y - p)^2} over the rows, in order, in double.
void add_regression_sums(const float* predictions, int64_t rows, int64_t classes, const ClassTargets& targets,
                         double* sums);

}  // namespace dptrain::kernels::cpu
