#pragma once

// The passes of a step beside their bounds, of one replica on the CPU: of every layer forward and backward, and of what
// is no layer. Any thread.

#include <vector>

#include "plan/plan.h"
#include "replica/replica.h"
#include "session/bounds.h"
#include "session/devices.h"

namespace dptrain::session {

/// Threads of all replicas of this process, all at work at once.
int threads_in_use(const DeviceRequest& devices);

struct StepFacts {
  const plan::Plan& plan;
  const DeviceRequest& devices;  ///< CPUs, threads worked out
  double steps = 1;              ///< that the profile is the sum of
  int states = 0;                ///< floats of optimizer state for each trained weight
  int processes = 1;
  double update_ms = 0, waiting_ms = 0;  ///< of a step: the optimizer; for other replicas
};

/// `limits`: of threads_in_use(). Passes that take no time and have nothing to do are left out. The sum of gradients is
/// that of replicas in one process; of several the link decides, which is not measured here.
std::vector<PassTime> pass_times(const replica::Replica::Profile& profile, const StepFacts& facts,
                                 const backend::CpuLimits& limits);

}  // namespace dptrain::session
