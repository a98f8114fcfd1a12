#include "optim/metrics/sparse_top_k_categorical_accuracy.h"

#include "backend/cpu/metrics/cpu_metric.h"

namespace dptrain::backend::cpu {
namespace {

class SparseTopKCategoricalAccuracyMetricOp final : public TopKMetric {
 public:
  SparseTopKCategoricalAccuracyMetricOp(const optim::SparseTopKCategoricalAccuracySpec& spec,
                                        const MetricContext& context, Device&)
      : TopKMetric(context, spec.k) {}
};

const RegisteredMetricOp kCpuSparseTopKCategoricalAccuracyMetric =
    metric_op<optim::SparseTopKCategoricalAccuracySpec, SparseTopKCategoricalAccuracyMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
