#pragma once

// The runtime of an absent GPU, for plans: it has no memory, and its streams and events do nothing. Any thread.

#include <memory>
#include <string>

#include "backend/gpu/runtime.h"

namespace dptrain::backend::cuda {

struct PlanOnlyGpu {
  std::string name;         ///< "h200"
  std::string description;  ///< "NVIDIA H200, on paper"
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
};

/// Allocating, copying, filling, and recording or replaying graphs throw Error{kInternal}.
std::shared_ptr<gpu::Runtime> make_plan_only_runtime(const PlanOnlyGpu& gpu);

}  // namespace dptrain::backend::cuda
