#include "nn/metrics.h"

#include "backend/cpu/metrics/cpu_metric.h"

namespace dptrain::backend::cpu {
namespace {

class SparseTopKCategoricalAccuracyMetricOp final : public TopKMetric {
 public:
  SparseTopKCategoricalAccuracyMetricOp(const nn::SparseTopKCategoricalAccuracySpec& spec, const MetricContext& context,
                                        Device&)
      : TopKMetric(context, spec.k) {}
};

const RegisteredMetricOp kCpuSparseTopKCategoricalAccuracyMetric =
    metric_op<nn::SparseTopKCategoricalAccuracySpec, SparseTopKCategoricalAccuracyMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
