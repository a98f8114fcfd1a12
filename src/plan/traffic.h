#pragma once

// The bytes that a pass must move, however it is computed: what it reads and what it writes, each tensor, weight,
// gradient and kept room once. Pure functions of a plan; any thread.

#include <cstdint>

#include "plan/capabilities.h"
#include "plan/plan.h"

namespace dptrain::plan {

struct Traffic {
  double bytes = 0;  ///< read and written
  double set = 0;    ///< that it works on: what is written where it was read counts once
};

/// A step's forward in training with so many rows. `saved`: bytes of Need::saved for these rows, which forward writes
/// and backward reads. Of a weight that is read by row (Capabilities::reads_rows) as many bytes count as the output
/// has, at most all.
Traffic forward_traffic(const Plan& plan, const Step& step, const Capabilities& device, std::int64_t rows,
                        std::uint64_t saved);
/// Its backward, with the gradients that are wanted; weights are read where the gradient of an input is.
Traffic backward_traffic(const Plan& plan, const Step& step, const Capabilities& device, std::int64_t rows,
                         std::uint64_t saved);
/// Prediction, labels, mask and the gradient.
Traffic loss_traffic(const Plan& plan, const LossStep& loss, std::int64_t rows);
/// y += x of n elements of so many bytes.
Traffic sum_traffic(std::int64_t n, std::size_t element_bytes);
/// An optimizer's pass over the trained weights: weight, gradient and `states` floats of state for each are read,
/// weight and states are written. Without tables, of which only rows are updated.
Traffic update_traffic(const Plan& plan, int states);
/// What one of `replicas` that share memory does of the sum of all gradients: of its part of the arena it reads every
/// replica's and writes it to every replica.
Traffic all_reduce_traffic(const Plan& plan, int replicas);

}  // namespace dptrain::plan
