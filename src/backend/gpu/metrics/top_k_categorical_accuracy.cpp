#include "nn/metrics.h"

#include "backend/gpu/metrics/gpu_metric.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class TopKCategoricalAccuracyMetricOp final : public TopKMetric {
 public:
  TopKCategoricalAccuracyMetricOp(const nn::TopKCategoricalAccuracySpec& spec, const MetricContext& context,
                                  Device& device)
      : TopKMetric(context, device, spec.k) {}
};

const RegisteredMetricOp kTopKCategoricalAccuracyMetric =
    metric_op<nn::TopKCategoricalAccuracySpec, TopKCategoricalAccuracyMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
