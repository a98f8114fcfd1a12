// All metrics. A metric computes numbers or bins per row and adds them to its state, in an order that depends on the
// rows alone. On GPUs the host does not wait.

#include <vector>

#include "backend/metric_op.h"
#include "backend/ops/kernel_op.h"
#include "kernels/threshold_bins.h"
#include "nn/counting_metrics.h"
#include "nn/metrics.h"
#include DPTRAIN_KERNELS(metric.h)
#include DPTRAIN_KERNELS(metric_bins.h)

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class RowMetric : public MetricOp {
 protected:
  RowMetric(const MetricContext& context, Device& device)
      : device_(static_cast<BackendDevice&>(device)),
        classes_(context.classes()),
        positions_(context.positions()),
        capacity_(context.rows * positions_) {}

  kernel::Launch at(const MetricArgs& a) const { return launch_on(device_, a.stream); }
  static const Element* prediction(const MetricArgs& a) { return static_cast<const Element*>(a.prediction); }
  static kernels::LossTargets targets(const MetricArgs& a) { return {.labels = a.classes, .dense = a.dense}; }
  /// Rows of classes in the call.
  std::int64_t rows(const MetricArgs& a) const { return a.rows * positions_; }

  BackendDevice& device_;
  std::int64_t classes_, positions_;  // per row, per sample
  std::int64_t capacity_;             // the largest number of rows of classes
};

/// Adds a T for each row that counts; a sample's number is the mean over its rows.
template <class T>
class MeanMetric : public RowMetric {
 public:
  plan::Need need() const override {
    return {.saved = 0,
            .scratch = static_cast<std::uint64_t>(kernel::add_sum_workspace()) * sizeof(double) +
                       static_cast<std::uint64_t>(capacity_) * sizeof(T)};
  }

 protected:
  using RowMetric::RowMetric;

  static T* row_numbers(const MetricArgs& a) {
    return reinterpret_cast<T*>(static_cast<double*>(a.scratch) + kernel::add_sum_workspace());
  }
  void add_rows(const MetricArgs& a, const T* numbers, std::int64_t parts) const {
    kernel::add_sum(at(a), numbers, rows(a), static_cast<double>(parts), static_cast<double*>(a.scratch), a.state,
                    a.mask);
  }
};

/// The mean over a sample's values of an error.
template <auto errors>
class ErrorMetric final : public MeanMetric<float> {
 public:
  template <class Spec>
  ErrorMetric(const Spec&, const MetricContext& context, Device& device) : MeanMetric(context, device) {}

  void run(const MetricArgs& a) override {
    float* const found = row_numbers(a);
    errors(at(a), a.type, prediction(a), rows(a), classes_, targets(a), found);
    add_rows(a, found, positions_);
  }
};

/// The share of values on their label's side of a threshold.
class BinaryMetric final : public MeanMetric<std::int32_t> {
 public:
  BinaryMetric(const nn::BinaryAccuracySpec& spec, const MetricContext& context, Device& device)
      : BinaryMetric(spec.threshold, context, device) {}
  BinaryMetric(double threshold, const MetricContext& context, Device& device)
      : MeanMetric(context, device), threshold_(static_cast<float>(context.threshold(threshold))) {}

  void run(const MetricArgs& a) override {
    std::int32_t* const hits = row_numbers(a);
    kernel::binary_hits(at(a), a.type, prediction(a), rows(a), classes_, targets(a), threshold_, hits);
    add_rows(a, hits, classes_ * positions_);
  }

 private:
  float threshold_;
};

/// The share of rows whose largest value is the right one; reads the loss's hits where there are any.
class ArgmaxMetric final : public MeanMetric<kernel::Hit> {
 public:
  template <class Spec>
  ArgmaxMetric(const Spec&, const MetricContext& context, Device& device) : MeanMetric(context, device) {}

  bool reads_hits() const override { return true; }
  void run(const MetricArgs& a) override {
    if (a.hits != nullptr) return add_rows(a, static_cast<const kernel::Hit*>(a.hits), positions_);
    kernel::Hit* const found = row_numbers(a);
    kernel::categorical_hits(at(a), a.type, prediction(a), rows(a), classes_, targets(a), found);
    add_rows(a, found, positions_);
  }
};

/// The share of rows whose right value is among the k largest.
class TopKMetric final : public MeanMetric<kernel::Hit> {
 public:
  template <class Spec>
  TopKMetric(const Spec& spec, const MetricContext& context, Device& device)
      : MeanMetric(context, device), k_(spec.k) {}

  void run(const MetricArgs& a) override {
    kernel::Hit* const found = row_numbers(a);
    kernel::top_k_hits(at(a), a.type, prediction(a), rows(a), classes_, targets(a), k_, found);
    add_rows(a, found, positions_);
  }

 private:
  std::int64_t k_;
};

class R2ScoreMetric final : public RowMetric {
 public:
  R2ScoreMetric(const nn::R2ScoreSpec&, const MetricContext& context, Device& device) : RowMetric(context, device) {}

  void run(const MetricArgs& a) override {
    kernel::add_regression_sums(at(a), a.type, prediction(a), a.rows, classes_, targets(a), a.state);
  }
};

/// A sample is in `per_sample` bins, or none; a kernel finds them, another counts them.
class CountingMetric : public RowMetric {
 public:
  plan::Need need() const override {
    return {.saved = 0,
            .scratch = static_cast<std::uint64_t>(bins_) * sizeof(std::int32_t) +
                       static_cast<std::uint64_t>(kernel::add_counts_workspace(counters_)) * sizeof(unsigned)};
  }

 protected:
  CountingMetric(const MetricContext& context, Device& device, std::int64_t per_sample)
      : RowMetric(context, device),
        per_sample_(per_sample),
        bins_(context.rows * per_sample),
        counters_(static_cast<std::int64_t>(context.metric.state)) {}

  static std::int32_t* bins(const MetricArgs& a) { return static_cast<std::int32_t*>(a.scratch); }
  void count(const MetricArgs& a) const {
    kernel::add_counts(at(a), bins(a), a.rows * per_sample_, counters_, reinterpret_cast<unsigned*>(bins(a) + bins_),
                       a.state, a.mask, per_sample_ / positions_);
  }

 private:
  std::int64_t per_sample_, bins_, counters_;
};

/// Counts values above thresholds.
class ThresholdMetric final : public CountingMetric {
 public:
  ThresholdMetric(const nn::ThresholdMetricSpec& spec, const MetricContext& context, Device& device)
      : ThresholdMetric({.top_k = spec.top_k.value_or(0), .class_id = spec.class_id.value_or(-1)}, spec.ascending(),
                        context, device) {}
  ThresholdMetric(const nn::AUCSpec& spec, const MetricContext& context, Device& device)
      : ThresholdMetric({.even = spec.evenly_spaced(), .by_class = spec.by_class(), .sigmoid = spec.from_logits},
                        spec.all_thresholds(), context, device) {}
  ThresholdMetric(const nn::F1ScoreSpec& spec, const MetricContext& context, Device& device)
      : ThresholdMetric({.largest = !spec.threshold, .by_class = true}, {spec.threshold.value_or(0)}, context, device) {
  }

  void run(const MetricArgs& a) override {
    kernel::threshold_bins(at(a), a.type, prediction(a), rows(a), classes_, targets(a), what_, bins(a));
    count(a);
  }

 private:
  ThresholdMetric(const kernels::ThresholdBins& bins, const std::vector<double>& ascending,
                  const MetricContext& context, Device& device)
      : CountingMetric(context, device, context.elements()), what_(bins) {
    std::vector<float> thresholds;
    for (const double threshold : ascending) thresholds.push_back(static_cast<float>(context.threshold(threshold)));
    thresholds_ = upload(thresholds, device);
    what_.thresholds = thresholds_->as<float>();
    what_.count = static_cast<std::int32_t>(thresholds.size());
  }

  kernels::ThresholdBins what_;
  std::unique_ptr<Buffer> thresholds_;  ///< on the device
};

/// Counts pairs of label and prediction.
class MeanIoUMetric final : public CountingMetric {
 public:
  MeanIoUMetric(const nn::MeanIoUSpec& spec, const MetricContext& context, Device& device)
      : CountingMetric(context, device, context.positions()),
        size_(spec.num_classes),
        ignored_(spec.ignore_class.value_or(-1)) {}

  void run(const MetricArgs& a) override {
    kernel::confusion_bins(at(a), a.type, prediction(a), rows(a), classes_, targets(a), size_, ignored_, bins(a));
    count(a);
  }

 private:
  std::int64_t size_, ignored_;
};

/// Compares a single probability with 0.5, or takes the largest of several.
std::unique_ptr<MetricOp> make_accuracy(const MetricContext& context, Device& device) {
  if (context.classes() == 1) return std::make_unique<BinaryMetric>(0.5, context, device);
  return std::make_unique<ArgmaxMetric>(context.metric.metric.as<nn::AccuracySpec>(), context, device);
}

const RegisteredMetricOp kErrors[] = {
    metric_op<nn::MeanAbsoluteErrorMetricSpec, ErrorMetric<kernel::absolute_errors>>(kKind),
    metric_op<nn::MeanSquaredErrorMetricSpec, ErrorMetric<kernel::squared_errors>>(kKind),
    metric_op<nn::RootMeanSquaredErrorSpec, ErrorMetric<kernel::squared_errors>>(kKind),
    metric_op<nn::R2ScoreSpec, R2ScoreMetric>(kKind)};

const RegisteredMetricOp kAccuracies[] = {{kKind, typeid(nn::AccuracySpec), make_accuracy},
                                          metric_op<nn::BinaryAccuracySpec, BinaryMetric>(kKind),
                                          metric_op<nn::CategoricalAccuracySpec, ArgmaxMetric>(kKind),
                                          metric_op<nn::SparseCategoricalAccuracySpec, ArgmaxMetric>(kKind),
                                          metric_op<nn::TopKCategoricalAccuracySpec, TopKMetric>(kKind),
                                          metric_op<nn::SparseTopKCategoricalAccuracySpec, TopKMetric>(kKind)};

const RegisteredMetricOp kCounts[] = {
    metric_op<nn::PrecisionSpec, ThresholdMetric>(kKind), metric_op<nn::RecallSpec, ThresholdMetric>(kKind),
    metric_op<nn::AUCSpec, ThresholdMetric>(kKind), metric_op<nn::F1ScoreSpec, ThresholdMetric>(kKind),
    metric_op<nn::MeanIoUSpec, MeanIoUMetric>(kKind)};

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
