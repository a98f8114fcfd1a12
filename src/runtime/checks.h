#pragma once

#include <cstddef>

#include "plan/plan.h"
#include "runtime/replica.h"

namespace dptrain::runtime {

/// What a run makes of the user's wish. NCCL's calls in graphs have not run on several GPUs: who does not ask for them
/// (kOn) is not given them.
backend::Graphs graphs_for(backend::Graphs wish, int replicas);

/// Throws Error{kUsage} where steps must be recorded (backend::Graphs::kOn) and this replica, of so many slots, cannot
/// do so; `sums_too`: a recording may hold the sums over the replicas.
void check_graphs(const Options& options, int slots, bool sums_too);

/// Throw Error{kInternal}. A step has one micro-batch, or, where the replica accumulates, at least one; each shard
/// comes in the same number of slices.
void check_micro_batches(const Options& options, std::size_t micro_batches, bool accumulates);
void check_shards(const Options& options, std::size_t slices);

/// Whether there is a penalty to count.
bool regularized(const plan::Plan& plan);

}  // namespace dptrain::runtime
