#include "nn/counting_metrics.h"

#include "backend/cpu/metrics/cpu_counts.h"

namespace dptrain::backend::cpu {
namespace {

class RecallMetricOp final : public ThresholdMetric {
 public:
  RecallMetricOp(const nn::RecallSpec& spec, const MetricContext& context, Device&)
      : ThresholdMetric(context, bins_above(spec), spec.ascending()) {}
};

const RegisteredMetricOp kCpuRecallMetric = metric_op<nn::RecallSpec, RecallMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
