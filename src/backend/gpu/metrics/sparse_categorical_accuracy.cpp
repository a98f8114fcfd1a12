#include "nn/metrics.h"

#include "backend/gpu/metrics/gpu_metric.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class SparseCategoricalAccuracyMetricOp final : public ArgmaxMetric {
 public:
  SparseCategoricalAccuracyMetricOp(const nn::SparseCategoricalAccuracySpec&, const MetricContext& context,
                                    Device& device)
      : ArgmaxMetric(context, device) {}
};

const RegisteredMetricOp kSparseCategoricalAccuracyMetric =
    metric_op<nn::SparseCategoricalAccuracySpec, SparseCategoricalAccuracyMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
