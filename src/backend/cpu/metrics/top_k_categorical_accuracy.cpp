#include "nn/metrics.h"

#include "backend/cpu/metrics/cpu_metric.h"

namespace dptrain::backend::cpu {
namespace {

class TopKCategoricalAccuracyMetricOp final : public TopKMetric {
 public:
  TopKCategoricalAccuracyMetricOp(const nn::TopKCategoricalAccuracySpec& spec, const MetricContext& context, Device&)
      : TopKMetric(context, spec.k) {}
};

const RegisteredMetricOp kCpuTopKCategoricalAccuracyMetric =
    metric_op<nn::TopKCategoricalAccuracySpec, TopKCategoricalAccuracyMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
