#pragma once

// What a GPU reaches by its data sheet, and how long a pass takes there by it: for GPUs that are not at hand. Pure
// functions; any thread.
//
// A pass takes the longer of its operations and its bytes, and every launch takes its time besides. Of the data sheet's
// figures a pass reaches a share, which is the same for all layers and all GPUs: GpuShares. The shares were fitted to
// the steps measured on an H100 in docs/gpu-results.md; docs/gpu.md says how far from each of them the sum is.

#include <string>

#include "session/bounds.h"

namespace dptrain::session {

/// By which units of the GPU a pass computes.
enum class GpuUnits {
  kVector,     ///< float32, one element a thread: dptrain's own kernels
  kStrict,     ///< products of float32 with all 23 bits
  kTf32,       ///< products of float32 rounded to 10 bits
  kSixteenBit  ///< products of bfloat16 or float16
};

/// Per second. Without sparsity.
struct GpuFigures {
  std::string name;    ///< "NVIDIA H200"
  double bytes = 0;    ///< of memory
  double float32 = 0;  ///< operations, a multiply-add being two
  double tf32 = 0;
  double sixteen_bit = 0;
};

/// "h100" (SXM5, 80 GB), "h200" (SXM, 141 GB), by NVIDIA's data sheets. Throws Error{kInternal} for others.
const GpuFigures& gpu_figures(const std::string& model);

/// What passes reach of GpuFigures, and what a launch costs.
struct GpuShares {
  double bytes = 1;
  double vector = 1, strict = 1, tf32 = 1, sixteen_bit = 1;
  double launch_seconds = 0;        ///< of a kernel in a recorded step
  double eager_launch_seconds = 0;  ///< of a kernel that the host launches, besides
};
const GpuShares& gpu_shares();

/// A pass of a step, as it would be on that GPU in a recorded step.
struct GpuTime {
  double seconds = 0;
  std::string by;  ///< "products", "vectors", "memory" or "launches": what takes most of it
};

/// `launches`: kernels.
GpuTime gpu_time(const PassWork& work, int launches, GpuUnits units, const GpuFigures& figures,
                 const GpuShares& shares);

}  // namespace dptrain::session
