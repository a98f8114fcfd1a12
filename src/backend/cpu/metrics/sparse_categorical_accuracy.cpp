#include "nn/metrics.h"

#include "backend/cpu/metrics/cpu_metric.h"

namespace dptrain::backend::cpu {
namespace {

class SparseCategoricalAccuracyMetricOp final : public ArgmaxMetric {
 public:
  SparseCategoricalAccuracyMetricOp(const nn::SparseCategoricalAccuracySpec&, const MetricContext& context, Device&)
      : ArgmaxMetric(context) {}
};

const RegisteredMetricOp kCpuSparseCategoricalAccuracyMetric =
    metric_op<nn::SparseCategoricalAccuracySpec, SparseCategoricalAccuracyMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
