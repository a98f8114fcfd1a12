#include "nn/metrics.h"

#include "backend/cpu/metrics/cpu_metric.h"

namespace dptrain::backend::cpu {
namespace {

class R2ScoreMetricOp final : public CpuMetric {
 public:
  R2ScoreMetricOp(const nn::R2ScoreSpec&, const MetricContext& context, Device&) : CpuMetric(context) {}
  void run(const MetricArgs& a) override {
    kernels::cpu::add_regression_sums(prediction(a), a.rows, classes_, targets(a), a.state);
  }
};

const RegisteredMetricOp kCpuR2ScoreMetric = metric_op<nn::R2ScoreSpec, R2ScoreMetricOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
