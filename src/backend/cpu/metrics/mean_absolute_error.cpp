#include "nn/metrics.h"

#include "backend/cpu/metrics/cpu_metric.h"

namespace dptrain::backend::cpu {
namespace {

class MeanAbsoluteErrorMetricOp final : public ErrorMetric {
 public:
  MeanAbsoluteErrorMetricOp(const nn::MeanAbsoluteErrorMetricSpec&, const MetricContext& context, Device&)
      : ErrorMetric(context, kernels::cpu::absolute_errors) {}
};

const RegisteredMetricOp kCpuMeanAbsoluteErrorMetric =
    metric_op<nn::MeanAbsoluteErrorMetricSpec, MeanAbsoluteErrorMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
