#include "nn/counting_metrics.h"

#include "backend/cpu/metrics/cpu_counts.h"

namespace dptrain::backend::cpu {
namespace {

class MeanIoUMetricOp final : public CountingMetric {
 public:
  MeanIoUMetricOp(const nn::MeanIoUSpec& spec, const MetricContext& context, Device&)
      : CountingMetric(context, context.positions()),
        size_(spec.num_classes),
        ignored_(spec.ignore_class.value_or(-1)) {}
  void run(const MetricArgs& a) override {
    kernels::cpu::confusion_bins(prediction(a), rows(a), classes_, targets(a), size_, ignored_, bins(a));
    count(a);
  }

 private:
  std::int64_t size_, ignored_;
};

const RegisteredMetricOp kCpuMeanIoUMetric = metric_op<nn::MeanIoUSpec, MeanIoUMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
