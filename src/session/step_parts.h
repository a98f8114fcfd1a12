#pragma once

// The parts of a replica's step for a prediction: when each bucket of gradients is ready, from the times or the
// operations of the plan's steps, and how long a step takes. Main thread.

#include <cstdint>
#include <vector>

#include "experiment/experiment.h"
#include "plan/plan.h"
#include "session/bench.h"
#include "session/prediction.h"

namespace dptrain::session {

/// What forward and backward of a step of the plan take, in any unit.
struct StepWeight {
  double forward = 0, backward = 0;
};

/// The parts of forward and backward, which take `seconds` together, of a step of so many micro-batches, whose last one
/// hands its gradients over. `weights`: one per step of the plan; where all are zero every step weighs the same.
StepParts parts_of(const plan::Plan& plan, const std::vector<StepWeight>& weights, double seconds,
                   std::int64_t micro_batches);

/// A step of a replica with so many rows that takes `seconds` in all, spread by the operations of the plan's ops.
StepParts given_parts(const experiment::Experiment& experiment, const DeviceRequest& device, std::int64_t rows,
                      double seconds);

/// Of one replica with so many rows while `side_by_side` replicas compute the same in this process, on as many cores as
/// there are: `other` holds what they wait for each other and for cores, and with it what it takes to sum in one
/// memory. Measures `options.steps` steps `options.repeats` times, and the layers once more.
StepParts measured_parts(const experiment::Experiment& experiment, const DeviceRequest& device, std::int64_t rows,
                         int side_by_side, const BenchOptions& options);

}  // namespace dptrain::session
