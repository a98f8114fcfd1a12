#include "nn/counting_metrics.h"

#include "backend/gpu/metrics/gpu_counts.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class AUCMetricOp final : public ThresholdMetric {
 public:
  AUCMetricOp(const nn::AUCSpec& spec, const MetricContext& context, Device& device)
      : ThresholdMetric(context, device,
                        {.even = spec.evenly_spaced(), .by_class = spec.by_class(), .sigmoid = spec.from_logits},
                        spec.all_thresholds()) {}
};

const RegisteredMetricOp kAUCMetric = metric_op<nn::AUCSpec, AUCMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
