#pragma once

// What a plan's loss and metrics are in the words of the kernels: the same for every device. Pure functions, any
// thread.

#include "device/op.h"

namespace dptrain::device {

enum class LossKind { kCategorical, kBinary, kSquared, kAbsolute };

struct LossFunction {
  LossKind kind = LossKind::kCategorical;
  float label_smoothing = 0;
};

/// Sparse and dense categorical losses are one: what the labels are is said by the plan. Throws Error{kInternal} for a
/// loss that no device has.
LossFunction loss_function(const config::Typed& loss);

/// Of one sample of the predictions.
const Shape& prediction_shape(const LossContext& context);

/// Whether the metric is a difference of values, which wants them after the activation that is fused into the loss.
bool is_error(const optim::ResolvedMetric& metric);

/// The prediction above which a binary metric counts a hit. Where the sigmoid is fused, predictions are logits: p > t
/// is z > ln(t / (1 - t)).
float hit_threshold(const plan::LossStep& loss, const optim::ResolvedMetric& metric);

}  // namespace dptrain::device
