#include "nn/counting_metrics.h"

#include "backend/cpu/metrics/cpu_counts.h"

namespace dptrain::backend::cpu {
namespace {

class AUCMetricOp final : public ThresholdMetric {
 public:
  AUCMetricOp(const nn::AUCSpec& spec, const MetricContext& context, Device&)
      : ThresholdMetric(context,
                        {.even = spec.evenly_spaced(), .by_class = spec.by_class(), .sigmoid = spec.from_logits},
                        spec.all_thresholds()) {}
};

const RegisteredMetricOp kCpuAUCMetric = metric_op<nn::AUCSpec, AUCMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
