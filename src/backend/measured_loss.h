#pragma once

// The loss of one output together with its metrics, on any device. Metrics look at the predictions before the loss,
// whose gradient may overwrite them; those that can do with what the loss finds anyway (LossOp::knows_hits) come behind
// it and cost no pass of their own. Where the loss has taken over a softmax or sigmoid and a metric wants the values
// behind it, they are computed once for all metrics. Owned by its caller, used on its replica's thread.

#include <memory>

#include "backend/device.h"

namespace dptrain::backend {

/// LossArgs::sums has room for the loss and the states of all metrics, LossStep::sums() doubles. The device and what
/// the context refers to outlive the op.
std::unique_ptr<LossOp> measured_loss(const LossContext& context, Device& device);

}  // namespace dptrain::backend
