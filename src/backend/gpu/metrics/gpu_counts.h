#pragma once

// The GPU's ops of metrics that count: a kernel finds the bins, others count them.

#include <vector>

#include "backend/gpu/metrics/gpu_metric.h"
#include "backend/metric_bins.h"
#include "kernels/cuda/metric_bins.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

class CountingMetric : public GpuMetric {
 public:
  plan::Need need() const override {
    return {.saved = 0,
            .scratch = static_cast<std::uint64_t>(bins_) * sizeof(std::int32_t) +
                       static_cast<std::uint64_t>(counters_) * sizeof(unsigned)};
  }

 protected:
  /// A sample falls into `per_sample` bins, or none.
  CountingMetric(const MetricContext& context, Device& device, std::int64_t per_sample)
      : GpuMetric(context, device),
        per_sample_(per_sample),
        bins_(context.rows * per_sample),
        counters_(static_cast<std::int64_t>(context.metric.state)) {}

  static std::int32_t* bins(const MetricArgs& a) { return static_cast<std::int32_t*>(a.scratch); }
  void count(const MetricArgs& a) const {
    kernel::add_counts(at(a), bins(a), a.rows * per_sample_, counters_, reinterpret_cast<unsigned*>(bins(a) + bins_),
                       a.state);
  }

 private:
  std::int64_t per_sample_, bins_, counters_;
};

class ThresholdMetric : public CountingMetric {
 public:
  ThresholdMetric(const MetricContext& context, Device& device, const kernels::ThresholdBins& bins,
                  const std::vector<double>& ascending)
      : CountingMetric(context, device, context.elements()), what_(bins) {
    const std::vector<float> thresholds = thresholds_of(context, ascending);
    const std::size_t bytes = thresholds.size() * sizeof(float);
    thresholds_ = device_.allocate(bytes);
    const auto stream = device_.make_stream(false);
    device_.copy_to_device(thresholds_->data(), thresholds.data(), bytes, *stream);
    stream->synchronize();
    what_.thresholds = thresholds_->as<float>();
    what_.count = static_cast<std::int32_t>(thresholds.size());
  }
  void run(const MetricArgs& a) override {
    kernel::threshold_bins(at(a), a.type, a.prediction, rows(a), classes_, targets(a), what_, bins(a));
    count(a);
  }

 private:
  kernels::ThresholdBins what_;
  std::unique_ptr<Buffer> thresholds_;  ///< on the device
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
