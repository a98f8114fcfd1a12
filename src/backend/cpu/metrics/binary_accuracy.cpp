#include "nn/metrics.h"

#include "backend/cpu/metrics/cpu_metric.h"

namespace dptrain::backend::cpu {
namespace {

class BinaryAccuracyMetricOp final : public BinaryMetric {
 public:
  BinaryAccuracyMetricOp(const nn::BinaryAccuracySpec& spec, const MetricContext& context, Device&)
      : BinaryMetric(context, spec.threshold) {}
};

const RegisteredMetricOp kCpuBinaryAccuracyMetric =
    metric_op<nn::BinaryAccuracySpec, BinaryAccuracyMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
