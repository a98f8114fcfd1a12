#pragma once

// What the GPU's ops of metrics have in common. Kernels give numbers per row, which are added to the state on the
// device in an order that depends on the rows alone; nothing waits for the host.

#include "backend/gpu/gpu_device.h"
#include "backend/metric_op.h"
#include "kernels/cuda/loss.h"
#include "kernels/cuda/metric.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

class GpuMetric : public MetricOp {
 public:
  plan::Need need() const override {
    return {.saved = 0,
            .scratch = static_cast<std::uint64_t>(kernel::add_sum_workspace()) * sizeof(double) +
                       static_cast<std::uint64_t>(capacity_) * sizeof(float)};
  }

 protected:
  GpuMetric(const MetricContext& context, Device& device)
      : device_(static_cast<GpuDevice&>(device)),
        classes_(context.classes()),
        positions_(context.positions()),
        capacity_(context.rows * positions_) {}

  kernel::Launch at(const MetricArgs& a) const { return device_.launch(*a.stream); }
  /// Of classes.
  std::int64_t rows(const MetricArgs& a) const { return a.rows * positions_; }
  static kernel::LossTargets targets(const MetricArgs& a) { return {.labels = a.classes, .dense = a.dense}; }
  /// Room for one number per row.
  template <class T>
  static T* row_numbers(const MetricArgs& a) {
    return reinterpret_cast<T*>(static_cast<double*>(a.scratch) + kernel::add_sum_workspace());
  }
  /// Adds the numbers of all rows that count; a sample's is the mean over `parts` of them.
  template <class T>
  void add_rows(const MetricArgs& a, const T* numbers, std::int64_t parts) const {
    kernel::add_sum(at(a), numbers, rows(a), 1.0 / static_cast<double>(parts), static_cast<double*>(a.scratch), a.state,
                    a.mask);
  }

  GpuDevice& device_;
  std::int64_t classes_, positions_;  // of a row, of a sample
  std::int64_t capacity_;             // the most rows of classes
};

/// The share of rows whose largest value is the right one; takes what the loss has found.
class ArgmaxMetric : public GpuMetric {
 public:
  ArgmaxMetric(const MetricContext& context, Device& device) : GpuMetric(context, device) {}
  bool takes_hits() const override { return true; }
  void run(const MetricArgs& a) override {
    if (a.hits != nullptr) return add_rows(a, static_cast<const std::int32_t*>(a.hits), positions_);
    auto* const found = row_numbers<std::int32_t>(a);
    kernel::categorical_hits(at(a), a.type, a.prediction, rows(a), classes_, targets(a), found);
    add_rows(a, found, positions_);
  }
};

/// The share of rows whose right value is among the k largest.
class TopKMetric : public GpuMetric {
 public:
  TopKMetric(const MetricContext& context, Device& device, std::int64_t k) : GpuMetric(context, device), k_(k) {}
  void run(const MetricArgs& a) override {
    auto* const found = row_numbers<std::int32_t>(a);
    kernel::top_k_hits(at(a), a.type, a.prediction, rows(a), classes_, targets(a), k_, found);
    add_rows(a, found, positions_);
  }

 private:
  std::int64_t k_;
};

/// The share of values on their label's side of a threshold.
class BinaryMetric : public GpuMetric {
 public:
  BinaryMetric(const MetricContext& context, Device& device, double threshold)
      : GpuMetric(context, device), threshold_(static_cast<float>(context.threshold(threshold))) {}
  void run(const MetricArgs& a) override {
    auto* const hits = row_numbers<std::int32_t>(a);
    kernel::binary_hits(at(a), a.type, a.prediction, rows(a), classes_, targets(a), threshold_, hits);
    add_rows(a, hits, classes_ * positions_);
  }

 private:
  float threshold_;
};

/// The mean over a sample's values of an error.
class ErrorMetric : public GpuMetric {
 public:
  using Errors = void (*)(const kernel::Launch&, DType, const void*, std::int64_t, std::int64_t,
                          const kernel::LossTargets&, float*);
  ErrorMetric(const MetricContext& context, Device& device, Errors errors)
      : GpuMetric(context, device), errors_(errors) {}
  void run(const MetricArgs& a) override {
    auto* const found = row_numbers<float>(a);
    errors_(at(a), a.type, a.prediction, rows(a), classes_, targets(a), found);
    add_rows(a, found, positions_);
  }

 private:
  Errors errors_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
