#include "nn/metrics.h"

#include "backend/gpu/metrics/gpu_metric.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class MeanAbsoluteErrorMetricOp final : public ErrorMetric {
 public:
  MeanAbsoluteErrorMetricOp(const nn::MeanAbsoluteErrorMetricSpec&, const MetricContext& context, Device& device)
      : ErrorMetric(context, device, kernel::absolute_errors) {}
};

const RegisteredMetricOp kMeanAbsoluteErrorMetric =
    metric_op<nn::MeanAbsoluteErrorMetricSpec, MeanAbsoluteErrorMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
