#include "nn/metrics.h"

#include "backend/gpu/metrics/gpu_metric.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class RootMeanSquaredErrorMetricOp final : public ErrorMetric {
 public:
  RootMeanSquaredErrorMetricOp(const nn::RootMeanSquaredErrorSpec&, const MetricContext& context, Device& device)
      : ErrorMetric(context, device, kernel::squared_errors) {}
};

const RegisteredMetricOp kRootMeanSquaredErrorMetric =
    metric_op<nn::RootMeanSquaredErrorSpec, RootMeanSquaredErrorMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
