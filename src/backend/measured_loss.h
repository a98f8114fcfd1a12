#pragma once

// The loss of one output together with its metrics, on any device. Metrics read the predictions before the loss, whose
// gradient may overwrite them. Metrics that only need results of the loss (LossOp::knows_hits) run after it, without a
// pass over the predictions. If the loss includes a softmax or sigmoid and metrics need its output, it is computed once
// for all of them. Owned by its caller, used on its replica's thread.

#include <memory>

#include "backend/device.h"

namespace dptrain::backend {

/// LossArgs::sums has room for the loss and the states of all metrics, LossStep::sums() doubles. The device and what
/// the context refers to outlive the op.
std::unique_ptr<LossOp> measured_loss(const LossContext& context, Device& device);

}  // namespace dptrain::backend
