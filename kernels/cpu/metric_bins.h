#pragma once

// Counting metrics: every value or row falls into one bin of a metric's state, or into none (-1). Counts are integers,
// so sums are exact in any order. Predictions: [rows, classes]; targets: as for losses. Conventions: parallel.h.

#include <cstdint>

#include "kernels/cpu/launch.h"
#include "kernels/loss_rows.h"
#include "kernels/threshold_bins.h"

namespace dptrain::kernels::cpu {

/// bins[row, class] = the bin defined by ThresholdBins, whose thresholds are in host memory.
void threshold_bins(const Launch& at, DType type, const float* predictions, int64_t rows, int64_t classes,
                    const LossTargets& targets, const ThresholdBins& what, int32_t* bins);

/// bins[row] = label * size + index of the first largest score; -1 for `ignored` or if either is outside [0, size).
void confusion_bins(const Launch& at, DType type, const float* scores, int64_t rows, int64_t classes,
                    const LossTargets& targets, int64_t size, int64_t ignored, int32_t* bins);

inline int64_t add_counts_workspace(int64_t /*count*/) { return 0; }

/// counts[bin] += number of elements of `bins` equal to bin, for each of `count` bins. Not counted: -1 and, with a
/// mask, bins i for which mask[i / bins_per_row] is 0.
void add_counts(const Launch& at, const int32_t* bins, int64_t n, int64_t count, unsigned* workspace, double* counts,
                const uint8_t* mask = nullptr, int64_t bins_per_row = 1);

/// sums[class] += {sum y, sum y^2, sum (y - p)^2} over the rows, in order, in double.
void add_regression_sums(const Launch& at, DType type, const float* predictions, int64_t rows, int64_t classes,
                         const LossTargets& targets, double* sums);

}  // namespace dptrain::kernels::cpu
