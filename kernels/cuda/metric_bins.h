#pragma once

// Counting metrics with the equations of kernels/cpu/metric_bins.h: bins of values or rows, and their counts.
// Predictions are in any type and read as float. All pointers are device memory, and kernels are queued on the launch's
// stream. Counting uses atomics of integers, whose sums do not depend on the order. Calls without rows do nothing.

#include "kernels/cuda/loss.h"
#include "kernels/threshold_bins.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// bins[row, class] = the bin defined by ThresholdBins, whose thresholds are in device memory.
void threshold_bins(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t classes,
                    const LossTargets& targets, const ThresholdBins& what, std::int32_t* bins);

/// bins[row] = label * size + index of the first largest score; -1 where the label is `ignored` or where either is
/// outside [0, size).
void confusion_bins(const Launch& at, DType type, const void* scores, std::int64_t rows, std::int64_t classes,
                    const LossTargets& targets, std::int64_t size, std::int64_t ignored, std::int32_t* bins);

/// Numbers of workspace for add_counts of `count` bins.
inline std::int64_t add_counts_workspace(std::int64_t count) { return count; }

/// counts[bin] += the number of `bins` elements equal to bin, for each of `count` bins. -1 is not counted.
void add_counts(const Launch& at, const std::int32_t* bins, std::int64_t n, std::int64_t count, unsigned* workspace,
                double* counts);

/// sums[class] += {sum y, sum y^2, sum (y - p)^2} over the rows, in double and in an order that depends on the rows
/// alone.
void add_regression_sums(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t classes,
                         const LossTargets& targets, double* sums);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
