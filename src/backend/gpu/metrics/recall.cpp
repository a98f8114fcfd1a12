#include "optim/metrics/recall.h"

#include "backend/gpu/metrics/gpu_counts.h"

namespace dptrain::backend::DPTRAIN_GPU {
namespace {

class RecallMetricOp final : public ThresholdMetric {
 public:
  RecallMetricOp(const optim::RecallSpec& spec, const MetricContext& context, Device& device)
      : ThresholdMetric(context, device, bins_above(spec), spec.ascending()) {}
};

const RegisteredMetricOp kRecallMetric = metric_op<optim::RecallSpec, RecallMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_GPU
