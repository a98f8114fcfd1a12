#include "device/loss_function.h"

#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/format.h"
#include "optim/loss.h"

namespace dptrain::device {

LossFunction loss_function(const config::Typed& loss) {
  if (const auto* spec = loss.get_if<optim::CategoricalCrossentropySpec>())
    return {LossKind::kCategorical, static_cast<float>(spec->label_smoothing)};
  if (loss.get_if<optim::SparseCategoricalCrossentropySpec>()) return {LossKind::kCategorical};
  if (const auto* spec = loss.get_if<optim::BinaryCrossentropySpec>())
    return {LossKind::kBinary, static_cast<float>(spec->label_smoothing)};
  if (loss.get_if<optim::MeanSquaredErrorSpec>()) return {LossKind::kSquared};
  if (loss.get_if<optim::MeanAbsoluteErrorSpec>()) return {LossKind::kAbsolute};
  throw Error(ErrorKind::kInternal, fmt::format("{}: no device has such a loss", loss.name()));
}

const Shape& prediction_shape(const LossContext& context) {
  return context.plan.tensors[static_cast<std::size_t>(context.loss.prediction)].shape;
}

bool is_error(const optim::ResolvedMetric& metric) {
  return metric.kind == optim::MetricKind::kSquaredError || metric.kind == optim::MetricKind::kAbsoluteError;
}

float hit_threshold(const plan::LossStep& loss, const optim::ResolvedMetric& metric) {
  if (loss.fusion != plan::LossStep::Fusion::kSigmoid) return static_cast<float>(metric.threshold);
  if (metric.threshold <= 0) return -std::numeric_limits<float>::infinity();
  if (metric.threshold >= 1) return std::numeric_limits<float>::infinity();
  return static_cast<float>(std::log(metric.threshold) - std::log1p(-metric.threshold));
}

}  // namespace dptrain::device
