#pragma once

// The loss of one output together with its metrics, on any device. Metrics read the predictions before the loss, whose
// gradient may overwrite them. Metrics that only need the hits of the loss run after it, without a pass over the
// predictions. If the loss includes a softmax or sigmoid and metrics need its output, it is computed once for all of
// them. Owned by its caller, used on its replica's thread.

#include <memory>

#include "backend/device.h"

namespace dptrain::backend {

/// LossArgs::sums has LossStep::sums() doubles: the loss and the states of all metrics. The device and the objects that
/// the context refers to must outlive the op.
std::unique_ptr<LossOp> measured_loss(const LossContext& context, Device& device);

}  // namespace dptrain::backend
