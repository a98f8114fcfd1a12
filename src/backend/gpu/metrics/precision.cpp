#include "nn/counting_metrics.h"

#include "backend/gpu/metrics/gpu_counts.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class PrecisionMetricOp final : public ThresholdMetric {
 public:
  PrecisionMetricOp(const nn::PrecisionSpec& spec, const MetricContext& context, Device& device)
      : ThresholdMetric(context, device, bins_above(spec), spec.ascending()) {}
};

const RegisteredMetricOp kPrecisionMetric = metric_op<nn::PrecisionSpec, PrecisionMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
