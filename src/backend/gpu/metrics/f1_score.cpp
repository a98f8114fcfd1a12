#include "nn/counting_metrics.h"

#include "backend/gpu/metrics/gpu_counts.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class F1ScoreMetricOp final : public ThresholdMetric {
 public:
  F1ScoreMetricOp(const nn::F1ScoreSpec& spec, const MetricContext& context, Device& device)
      : ThresholdMetric(context, device, {.largest = !spec.threshold, .by_class = true}, {spec.threshold.value_or(0)}) {
  }
};

const RegisteredMetricOp kF1ScoreMetric = metric_op<nn::F1ScoreSpec, F1ScoreMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
