#include "optim/metrics/sparse_categorical_accuracy.h"

#include "device/cpu/metrics/cpu_metric.h"

namespace dptrain::device::cpu {
namespace {

class SparseCategoricalAccuracyMetricOp final : public ArgmaxMetric {
 public:
  SparseCategoricalAccuracyMetricOp(const optim::SparseCategoricalAccuracySpec&, const MetricContext& context, Device&)
      : ArgmaxMetric(context) {}
};

const RegisteredMetricOp kCpuSparseCategoricalAccuracyMetric =
    metric_op<optim::SparseCategoricalAccuracySpec, SparseCategoricalAccuracyMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
