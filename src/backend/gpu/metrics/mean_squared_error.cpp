#include "nn/metrics.h"

#include "backend/gpu/metrics/gpu_metric.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class MeanSquaredErrorMetricOp final : public ErrorMetric {
 public:
  MeanSquaredErrorMetricOp(const nn::MeanSquaredErrorMetricSpec&, const MetricContext& context, Device& device)
      : ErrorMetric(context, device, kernel::squared_errors) {}
};

const RegisteredMetricOp kMeanSquaredErrorMetric =
    metric_op<nn::MeanSquaredErrorMetricSpec, MeanSquaredErrorMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
