#include "nn/metrics.h"

#include "backend/gpu/metrics/gpu_metric.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class BinaryAccuracyMetricOp final : public BinaryMetric {
 public:
  BinaryAccuracyMetricOp(const nn::BinaryAccuracySpec& spec, const MetricContext& context, Device& device)
      : BinaryMetric(context, device, spec.threshold) {}
};

const RegisteredMetricOp kBinaryAccuracyMetric = metric_op<nn::BinaryAccuracySpec, BinaryAccuracyMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
