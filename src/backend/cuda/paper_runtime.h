#pragma once

// The runtime of a GPU that is not there: it has the figures that plans and ops ask for, and no memory. Streams and
// events exist in name. Any thread.

#include <memory>
#include <string>

#include "backend/gpu/runtime.h"

namespace dptrain::backend::cuda {

struct PaperGpu {
  std::string name;         ///< "h200"
  std::string description;  ///< "NVIDIA H200, on paper"
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
};

/// Throws Error{kInternal} when asked to hold or do something.
std::shared_ptr<gpu::Runtime> make_paper_runtime(const PaperGpu& gpu);

}  // namespace dptrain::backend::cuda
