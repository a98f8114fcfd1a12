#include "nn/counting_metrics.h"

#include "backend/cpu/metrics/cpu_counts.h"

namespace dptrain::backend::cpu {
namespace {

class F1ScoreMetricOp final : public ThresholdMetric {
 public:
  F1ScoreMetricOp(const nn::F1ScoreSpec& spec, const MetricContext& context, Device&)
      : ThresholdMetric(context, {.largest = !spec.threshold, .by_class = true}, {spec.threshold.value_or(0)}) {}
};

const RegisteredMetricOp kCpuF1ScoreMetric = metric_op<nn::F1ScoreSpec, F1ScoreMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
