#include "optim/metrics/binary_accuracy.h"

#include "device/gpu/metrics/gpu_metric.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

class BinaryAccuracyMetricOp final : public BinaryMetric {
 public:
  BinaryAccuracyMetricOp(const optim::BinaryAccuracySpec& spec, const MetricContext& context, Device& device)
      : BinaryMetric(context, device, spec.threshold) {}
};

const RegisteredMetricOp kBinaryAccuracyMetric = metric_op<optim::BinaryAccuracySpec, BinaryAccuracyMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
