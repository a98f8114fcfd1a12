#pragma once

// Adds the sums that shards, replicas and processes have of a step, in the fixed order of kernels/sum_tree.h: the
// result has the same bits wherever the parts come from. Pure.

#include <vector>

#include "kernels/sum_tree.h"
#include "runtime/replica.h"

namespace dptrain::runtime {

/// One part of each of these nodes, in order; they tile a node of the tree.
StepSums sum_steps(const std::vector<StepSums>& parts, const std::vector<kernels::SumTree::Node>& nodes);
/// One part of each leaf of a tree.
StepSums sum_steps(const std::vector<StepSums>& parts);

}  // namespace dptrain::runtime
