#pragma once

// What the CPU's ops of metrics have in common. Rows are added in order in double, so that sums depend neither on
// threads nor on how rows are cut into pieces.

#include "backend/metric_op.h"
#include "kernels/cpu/metric.h"

namespace dptrain::backend::cpu {

class CpuMetric : public MetricOp {
 protected:
  explicit CpuMetric(const MetricContext& context)
      : classes_(context.classes()), positions_(context.positions()), capacity_(context.rows * positions_) {}

  /// Of classes.
  std::int64_t rows(const MetricArgs& a) const { return a.rows * positions_; }
  static const float* prediction(const MetricArgs& a) { return static_cast<const float*>(a.prediction); }
  static kernels::cpu::ClassTargets targets(const MetricArgs& a) { return {.labels = a.classes, .dense = a.dense}; }
  /// Adds the numbers of all rows that count; a sample's is the mean over `parts` of them.
  template <class T>
  void add_rows(const MetricArgs& a, const T* numbers, std::int64_t parts) const {
    double sum = 0;
    for (std::int64_t i = 0; i < rows(a); ++i)
      if (a.mask == nullptr || a.mask[i] != 0) sum += static_cast<double>(numbers[i]);
    *a.state += sum / static_cast<double>(parts);
  }

  std::int64_t classes_, positions_;  // of a row, of a sample
  std::int64_t capacity_;             // the most rows of classes
};

/// The share of rows whose largest value is the right one; takes what the loss has found.
class ArgmaxMetric : public CpuMetric {
 public:
  explicit ArgmaxMetric(const MetricContext& context) : CpuMetric(context) {}
  plan::Need need() const override { return {.saved = 0, .scratch = static_cast<std::uint64_t>(capacity_)}; }
  bool takes_hits() const override { return true; }
  void run(const MetricArgs& a) override {
    auto* const found = static_cast<std::uint8_t*>(a.scratch);
    if (a.hits == nullptr) kernels::cpu::categorical_hits(prediction(a), rows(a), classes_, targets(a), found);
    add_rows(a, a.hits == nullptr ? found : static_cast<const std::uint8_t*>(a.hits), positions_);
  }
};

/// The share of rows whose right value is among the k largest.
class TopKMetric : public CpuMetric {
 public:
  TopKMetric(const MetricContext& context, std::int64_t k) : CpuMetric(context), k_(k) {}
  plan::Need need() const override { return {.saved = 0, .scratch = static_cast<std::uint64_t>(capacity_)}; }
  void run(const MetricArgs& a) override {
    auto* const found = static_cast<std::uint8_t*>(a.scratch);
    kernels::cpu::top_k_hits(prediction(a), rows(a), classes_, targets(a), k_, found);
    add_rows(a, found, positions_);
  }

 private:
  std::int64_t k_;
};

/// The share of values on their label's side of a threshold.
class BinaryMetric : public CpuMetric {
 public:
  BinaryMetric(const MetricContext& context, double threshold)
      : CpuMetric(context), threshold_(static_cast<float>(context.threshold(threshold))) {}
  plan::Need need() const override {
    return {.saved = 0, .scratch = static_cast<std::uint64_t>(capacity_) * sizeof(std::int32_t)};
  }
  void run(const MetricArgs& a) override {
    auto* const hits = static_cast<std::int32_t*>(a.scratch);
    kernels::cpu::binary_hits(prediction(a), rows(a), classes_, targets(a), threshold_, hits);
    add_rows(a, hits, classes_ * positions_);
  }

 private:
  float threshold_;
};

/// The mean over a sample's values of an error.
class ErrorMetric : public CpuMetric {
 public:
  using Errors = void (*)(const float*, std::int64_t, std::int64_t, const kernels::cpu::ClassTargets&, float*);
  ErrorMetric(const MetricContext& context, Errors errors) : CpuMetric(context), errors_(errors) {}
  plan::Need need() const override {
    return {.saved = 0, .scratch = static_cast<std::uint64_t>(capacity_) * sizeof(float)};
  }
  void run(const MetricArgs& a) override {
    auto* const found = static_cast<float*>(a.scratch);
    errors_(prediction(a), rows(a), classes_, targets(a), found);
    add_rows(a, found, positions_);
  }

 private:
  Errors errors_;
};

}  // namespace dptrain::backend::cpu
