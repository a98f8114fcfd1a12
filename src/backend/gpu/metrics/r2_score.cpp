#include "nn/metrics.h"

#include "backend/gpu/metrics/gpu_metric.h"
#include "kernels/cuda/metric_bins.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class R2ScoreMetricOp final : public GpuMetric {
 public:
  R2ScoreMetricOp(const nn::R2ScoreSpec&, const MetricContext& context, Device& device) : GpuMetric(context, device) {}
  void run(const MetricArgs& a) override {
    kernel::add_regression_sums(at(a), a.type, a.prediction, a.rows, classes_, targets(a), a.state);
  }
};

const RegisteredMetricOp kR2ScoreMetric = metric_op<nn::R2ScoreSpec, R2ScoreMetricOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
