#include "nn/metrics.h"

#include "backend/gpu/metrics/gpu_metric.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class SparseTopKCategoricalAccuracyMetricOp final : public TopKMetric {
 public:
  SparseTopKCategoricalAccuracyMetricOp(const nn::SparseTopKCategoricalAccuracySpec& spec, const MetricContext& context,
                                        Device& device)
      : TopKMetric(context, device, spec.k) {}
};

const RegisteredMetricOp kSparseTopKCategoricalAccuracyMetric =
    metric_op<nn::SparseTopKCategoricalAccuracySpec, SparseTopKCategoricalAccuracyMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
