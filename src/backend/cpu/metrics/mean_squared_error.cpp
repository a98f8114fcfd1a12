#include "optim/metrics/mean_squared_error.h"

#include "backend/cpu/metrics/cpu_metric.h"

namespace dptrain::backend::cpu {
namespace {

class MeanSquaredErrorMetricOp final : public ErrorMetric {
 public:
  MeanSquaredErrorMetricOp(const optim::MeanSquaredErrorMetricSpec&, const MetricContext& context, Device&)
      : ErrorMetric(context, kernels::cpu::squared_errors) {}
};

const RegisteredMetricOp kCpuMeanSquaredErrorMetric =
    metric_op<optim::MeanSquaredErrorMetricSpec, MeanSquaredErrorMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
