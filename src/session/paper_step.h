#pragma once

// A training step on a GPU that is not there (`summary --plan --gpus h200`): what every item of the plan moves,
// computes and launches, and from it how long the step would take. A prediction: nothing is measured. Pure functions;
// any thread.
//
// Work is counted from the plan (plan/traffic.h, Op::flops_per_sample) and by rules of how the device's ops go over
// their tensors: a gradient that two engines read is read twice, a ReLU behind a convolution is a pass of its own,
// normalisation reads its input for its sums and again. Launches are counted by the same rules; they are estimates for
// ops made of many kernels. docs/gpu.md says how far the sum is from what was measured.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "session/bounds.h"

namespace dptrain::session {

// What a GPU reaches by its data sheet, and how long a pass takes there by it: for GPUs that are not at hand. Pure
// functions; any thread.
//
// A pass takes the longer of its operations and its bytes, and every launch takes its time besides. Of the data sheet's
// figures a pass reaches a share, which is the same for all layers and all GPUs: GpuShares. The shares were fitted to
// the steps measured on an H100 in docs/gpu-results.md; docs/gpu.md says how far from each of them the sum is.

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

struct DryPlan;

/// Of a pass.
struct PassRule {
  int launches = 1;       ///< kernels
  double again = 0;       ///< bytes that it moves beyond plan/traffic.h
  double of_vectors = 0;  ///< of all samples' operations, those of a pass of engines that dptrain's own kernels do
};

/// `choice`: the op's implementation(), "forward cudnn ...; data ...". `rows` of the micro-batch.
PassRule forward_rule(const plan::Plan& plan, const plan::Step& step, const std::string& choice, std::int64_t rows);
PassRule backward_rule(const plan::Plan& plan, const plan::Step& step, const std::string& choice, std::int64_t rows);

struct PaperPass {
  PassWork work{};
  int launches = 0;
  GpuTime time{};
};

/// An item: a step of the plan with both its passes, or something else in `forward` alone.
struct PaperItem {
  std::string name;  ///< "conv1", "loss", "update"
  PaperPass forward{}, backward{};
  int times = 1;  ///< in a step: once for every micro-batch, or once
};

struct PaperStep {
  std::string gpu;  ///< "NVIDIA H200"
  std::vector<PaperItem> items;
  std::int64_t samples = 0;  ///< of a step
  bool trains = true;

  double operations() const;
  double bytes() const;
  int launches() const;
  /// Of the whole step; `recorded`: as one CUDA graph, else launched one by one.
  double seconds(bool recorded) const;
};

/// `dry` made for a GPU on paper called `model`; `micro_batches` of a step; `tf32`: float32 products may be rounded.
PaperStep paper_step(const DryPlan& dry, const std::string& model, std::int64_t micro_batches, bool tf32);

/// The table, with the sum, samples per second, and the memory that a replica takes of `gpu_bytes`.
std::string paper_step_text(const PaperStep& step, std::uint64_t replica_bytes, std::uint64_t gpu_bytes);

}  // namespace dptrain::session
