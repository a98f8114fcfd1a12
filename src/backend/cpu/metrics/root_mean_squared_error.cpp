#include "nn/metrics.h"

#include "backend/cpu/metrics/cpu_metric.h"

namespace dptrain::backend::cpu {
namespace {

class RootMeanSquaredErrorMetricOp final : public ErrorMetric {
 public:
  RootMeanSquaredErrorMetricOp(const nn::RootMeanSquaredErrorSpec&, const MetricContext& context, Device&)
      : ErrorMetric(context, kernels::cpu::squared_errors) {}
};

const RegisteredMetricOp kCpuRootMeanSquaredErrorMetric =
    metric_op<nn::RootMeanSquaredErrorSpec, RootMeanSquaredErrorMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
