#include "nn/counting_metrics.h"

#include "backend/gpu/metrics/gpu_counts.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class RecallMetricOp final : public ThresholdMetric {
 public:
  RecallMetricOp(const nn::RecallSpec& spec, const MetricContext& context, Device& device)
      : ThresholdMetric(context, device, bins_above(spec), spec.ascending()) {}
};

const RegisteredMetricOp kRecallMetric = metric_op<nn::RecallSpec, RecallMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
