#pragma once

// The runtime of an absent GPU, for plans: it has no memory, and its streams and events do nothing. Any thread.

#include <memory>

#include "backend/cuda/plan_only_gpus.h"
#include "backend/gpu/runtime.h"

namespace dptrain::backend::cuda {

/// Allocating, copying, filling, and recording or replaying graphs throw Error{kInternal}. Only the first four members
/// of `gpu` matter, whose texts must outlive the runtime.
std::shared_ptr<gpu::Runtime> make_plan_only_runtime(const GpuModel& gpu);

}  // namespace dptrain::backend::cuda
