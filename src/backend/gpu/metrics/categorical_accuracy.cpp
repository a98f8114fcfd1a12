#include "nn/metrics.h"

#include "backend/gpu/metrics/gpu_metric.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class CategoricalAccuracyMetricOp final : public ArgmaxMetric {
 public:
  CategoricalAccuracyMetricOp(const nn::CategoricalAccuracySpec&, const MetricContext& context, Device& device)
      : ArgmaxMetric(context, device) {}
};

const RegisteredMetricOp kCategoricalAccuracyMetric =
    metric_op<nn::CategoricalAccuracySpec, CategoricalAccuracyMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
