#include "nn/counting_metrics.h"

#include "backend/cpu/metrics/cpu_counts.h"

namespace dptrain::backend::cpu {
namespace {

class PrecisionMetricOp final : public ThresholdMetric {
 public:
  PrecisionMetricOp(const nn::PrecisionSpec& spec, const MetricContext& context, Device&)
      : ThresholdMetric(context, bins_above(spec), spec.ascending()) {}
};

const RegisteredMetricOp kCpuPrecisionMetric = metric_op<nn::PrecisionSpec, PrecisionMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
