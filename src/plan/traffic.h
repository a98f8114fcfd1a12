#pragma once

// The bytes that a pass must read or write with any algorithm, each tensor, weight and gradient once. Any thread.

#include <cstdint>

#include "plan/capabilities.h"
#include "plan/plan.h"

namespace dptrain::plan {

struct Traffic {
  double bytes = 0;  ///< read and written
  double set = 0;    ///< working set: memory that is read and overwritten counts once
};

/// A step's forward in training. `saved`: bytes of Need::saved for these rows, which forward writes and backward reads.
/// A weight read by row (Capabilities::reads_rows) counts as the bytes of the output, at most all of it.
Traffic forward_traffic(const Plan& plan, const Step& step, const Capabilities& device, std::int64_t rows,
                        std::uint64_t saved);
/// The step's backward. Weights are read if an input gradient is computed.
Traffic backward_traffic(const Plan& plan, const Step& step, const Capabilities& device, std::int64_t rows,
                         std::uint64_t saved);
/// Reads prediction, labels and mask, and writes the gradient.
Traffic loss_traffic(const Plan& plan, const LossStep& loss, std::int64_t rows);
/// y += x of n elements of `element_bytes` each.
Traffic sum_traffic(std::int64_t n, std::size_t element_bytes);
/// An optimizer's pass over the trained weights. For each weight it reads weight, gradient and `states` floats of
/// state, and writes weight and states. Tables do not count: only some of their rows are updated.
Traffic update_traffic(const Plan& plan, int states);
/// Sum of all gradients on one of `replicas` in shared memory: reads its part of every arena and writes the sum to all.
Traffic all_reduce_traffic(const Plan& plan, int replicas);

}  // namespace dptrain::plan
