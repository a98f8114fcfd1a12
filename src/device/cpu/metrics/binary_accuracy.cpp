#include "optim/metrics/binary_accuracy.h"

#include "device/cpu/metrics/cpu_metric.h"

namespace dptrain::device::cpu {
namespace {

class BinaryAccuracyMetricOp final : public BinaryMetric {
 public:
  BinaryAccuracyMetricOp(const optim::BinaryAccuracySpec& spec, const MetricContext& context, Device&)
      : BinaryMetric(context, spec.threshold) {}
};

const RegisteredMetricOp kCpuBinaryAccuracyMetric =
    metric_op<optim::BinaryAccuracySpec, BinaryAccuracyMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
