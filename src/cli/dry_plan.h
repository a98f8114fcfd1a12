#pragma once

// A plan with the ops and the memory of one replica, but no memory allocated: for `check` and `summary --plan`. Main thread.

#include <cstdint>
#include <string>
#include <vector>

#include "graph/model.h"
#include "plan/memory.h"
#include "plan/plan.h"
#include "train/session.h"

namespace dptrain::cli {

struct DryPlan {
  graph::Model model;
  plan::Plan plan;  ///< points into `model`
  plan::MemoryPlan memory;
  std::vector<std::string> choices;  ///< the device's implementation of each step
  int slots = 0;                     ///< of the optimizer
  std::uint64_t replica_bytes = 0;   ///< parameters, gradients, slots and arena

  DryPlan() = default;
  DryPlan(const DryPlan&) = delete;
  DryPlan& operator=(const DryPlan&) = delete;

  std::string text() const { return plan::print(plan, memory, choices, slots); }
};

/// `result` is filled in place: the plan keeps a pointer to the model's graph. Without a train section: prediction only, of
/// `kDefaultRows` samples. Throws as make_plan does.
inline constexpr std::int64_t kDefaultRows = 32;
void make_dry_plan(const train::Experiment& experiment, const train::DeviceRequest& devices, DryPlan& result);

}  // namespace dptrain::cli
