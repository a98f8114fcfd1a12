#pragma once

// The runtime of a GPU that is not present. It has the figures that plans and ops read, but no memory; its streams and
// events do nothing. Any thread.

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

/// Functions of the runtime that allocate, copy, fill, or record and replay graphs throw Error{kInternal}.
std::shared_ptr<gpu::Runtime> make_paper_runtime(const PaperGpu& gpu);

}  // namespace dptrain::backend::cuda
