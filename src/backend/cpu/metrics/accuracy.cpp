#include "nn/metrics.h"

#include "backend/cpu/metrics/cpu_metric.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredMetricOp kCpuAccuracyMetric{DeviceKind::kCpu, typeid(nn::AccuracySpec),
                                            [](const MetricContext& context, Device&) -> std::unique_ptr<MetricOp> {
                                              // One probability is compared with 0.5, of several the largest counts.
                                              if (context.classes() == 1)
                                                return std::make_unique<BinaryMetric>(context, 0.5);
                                              return std::make_unique<ArgmaxMetric>(context);
                                            }};

}  // namespace
}  // namespace dptrain::backend::cpu
