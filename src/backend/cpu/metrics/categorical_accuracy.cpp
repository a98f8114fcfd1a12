#include "nn/metrics.h"

#include "backend/cpu/metrics/cpu_metric.h"

namespace dptrain::backend::cpu {
namespace {

class CategoricalAccuracyMetricOp final : public ArgmaxMetric {
 public:
  CategoricalAccuracyMetricOp(const nn::CategoricalAccuracySpec&, const MetricContext& context, Device&)
      : ArgmaxMetric(context) {}
};

const RegisteredMetricOp kCpuCategoricalAccuracyMetric =
    metric_op<nn::CategoricalAccuracySpec, CategoricalAccuracyMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
