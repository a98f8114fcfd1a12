#include "nn/metrics.h"

#include "backend/cpu/metrics/cpu_metric.h"

namespace dptrain::backend::cpu {
namespace {

class MeanSquaredErrorMetricOp final : public ErrorMetric {
 public:
  MeanSquaredErrorMetricOp(const nn::MeanSquaredErrorMetricSpec&, const MetricContext& context, Device&)
      : ErrorMetric(context, kernels::cpu::squared_errors) {}
};

const RegisteredMetricOp kCpuMeanSquaredErrorMetric =
    metric_op<nn::MeanSquaredErrorMetricSpec, MeanSquaredErrorMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
