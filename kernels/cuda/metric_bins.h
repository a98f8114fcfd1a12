#pragma once

// Counting metrics with the equations of kernels/cpu/metric_bins.h: bins of values or rows, and their counts. Counts
// are integer atomics, whose sums are independent of the order. Calls without rows do nothing.

#include "kernels/cuda/loss.h"
#include "kernels/threshold_bins.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// bins[row, class] = bin of ThresholdBins, with thresholds in device memory.
void threshold_bins(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t classes,
                    const LossTargets& targets, const ThresholdBins& what, std::int32_t* bins);

/// bins[row] = label * size + index of the first largest score; -1 if the label is `ignored` or either is out of range.
void confusion_bins(const Launch& at, DType type, const void* scores, std::int64_t rows, std::int64_t classes,
                    const LossTargets& targets, std::int64_t size, std::int64_t ignored, std::int32_t* bins);

/// Elements of workspace for add_counts.
inline std::int64_t add_counts_workspace(std::int64_t count) { return count; }

/// counts[bin] += number of `bins` elements equal to bin, for bins [0, count). Not counted: -1 and, with a mask, bins i
/// for which mask[i / bins_per_row] is 0.
void add_counts(const Launch& at, const std::int32_t* bins, std::int64_t n, std::int64_t count, unsigned* workspace,
                double* counts, const std::uint8_t* mask = nullptr, std::int64_t bins_per_row = 1);

/// sums[class] += {sum y, sum y^2, sum (y - p)^2} over the rows, in double, in an order that depends only on `rows`.
void add_regression_sums(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t classes,
                         const LossTargets& targets, double* sums);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
