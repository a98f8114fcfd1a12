#include "nn/metrics.h"

#include "backend/gpu/metrics/gpu_metric.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredMetricOp kAccuracyMetric{kKind, typeid(nn::AccuracySpec),
                                         [](const MetricContext& context, Device& device) -> std::unique_ptr<MetricOp> {
                                           // One probability is compared with 0.5, of several the largest counts.
                                           if (context.classes() == 1)
                                             return std::make_unique<BinaryMetric>(context, device, 0.5);
                                           return std::make_unique<ArgmaxMetric>(context, device);
                                         }};

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
