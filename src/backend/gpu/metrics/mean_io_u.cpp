#include "nn/counting_metrics.h"

#include "backend/gpu/metrics/gpu_counts.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class MeanIoUMetricOp final : public CountingMetric {
 public:
  MeanIoUMetricOp(const nn::MeanIoUSpec& spec, const MetricContext& context, Device& device)
      : CountingMetric(context, device, context.positions()),
        size_(spec.num_classes),
        ignored_(spec.ignore_class.value_or(-1)) {}
  void run(const MetricArgs& a) override {
    kernel::confusion_bins(at(a), a.type, a.prediction, rows(a), classes_, targets(a), size_, ignored_, bins(a));
    count(a);
  }

 private:
  std::int64_t size_, ignored_;
};

const RegisteredMetricOp kMeanIoUMetric = metric_op<nn::MeanIoUSpec, MeanIoUMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
