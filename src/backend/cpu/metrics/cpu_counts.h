#pragma once

// The CPU's ops of metrics that count. The threads find the bins, the caller counts them.

#include <vector>

#include "backend/cpu/metrics/cpu_metric.h"
#include "backend/metric_bins.h"
#include "kernels/cpu/metric_bins.h"

namespace dptrain::backend::cpu {

class CountingMetric : public CpuMetric {
 public:
  plan::Need need() const override {
    return {.saved = 0, .scratch = static_cast<std::uint64_t>(bins_) * sizeof(std::int32_t)};
  }

 protected:
  /// A sample falls into `per_sample` bins, or none.
  CountingMetric(const MetricContext& context, std::int64_t per_sample)
      : CpuMetric(context), per_sample_(per_sample), bins_(context.rows * per_sample) {}

  static std::int32_t* bins(const MetricArgs& a) { return static_cast<std::int32_t*>(a.scratch); }
  void count(const MetricArgs& a) const { kernels::cpu::add_counts(bins(a), a.rows * per_sample_, a.state); }

 private:
  std::int64_t per_sample_, bins_;
};

class ThresholdMetric : public CountingMetric {
 public:
  ThresholdMetric(const MetricContext& context, const kernels::ThresholdBins& bins,
                  const std::vector<double>& ascending)
      : CountingMetric(context, context.elements()), what_(bins), thresholds_(thresholds_of(context, ascending)) {
    what_.thresholds = thresholds_.data();
    what_.count = static_cast<std::int32_t>(thresholds_.size());
  }
  void run(const MetricArgs& a) override {
    kernels::cpu::threshold_bins(prediction(a), rows(a), classes_, targets(a), what_, bins(a));
    count(a);
  }

 private:
  kernels::ThresholdBins what_;
  std::vector<float> thresholds_;
};

}  // namespace dptrain::backend::cpu
