#pragma once

// The kernel launches of a step on a GPU that is not present (`summary --plan --gpus h200`). They are counted from the
// plan and the engines of its steps; for ops with many kernels they are estimates. Pure functions; any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace dptrain::bench {

/// A step of the plan, or another item that has only `forward`.
struct LaunchItem {
  std::string name;  ///< "conv1", "losses and metrics", "update"
  int forward = 0, backward = 0;
  int times = 1;  ///< executions per step: the number of micro-batches, or one
};

/// `choice`: the op's implementation(), "forward cudnn ...; data ...".
int forward_launches(const plan::Plan& plan, const plan::Step& step, const std::string& choice);
int backward_launches(const plan::Plan& plan, const plan::Step& step, const std::string& choice);

/// Items of a training step with this many micro-batches; only forward if the plan has no loss. `choices`: the
/// implementation of each step.
std::vector<LaunchItem> launch_items(const plan::Plan& plan, const std::vector<std::string>& choices,
                                     std::int64_t micro_batches);
int launches(const std::vector<LaunchItem>& items);

std::string launches_text(const std::vector<LaunchItem>& items);

}  // namespace dptrain::bench
