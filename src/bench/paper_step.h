#pragma once

// A training step on a GPU that is not present (`summary --plan --gpus h200`). Computes the bytes, operations and
// launches of every item of the plan, and from these the time of the step, without measuring anything. Pure functions;
// any thread.
//
// Work is counted from the plan (plan/traffic.h, Op::flops_per_sample), with rules for how the device's ops access
// their tensors. Two engines that read one gradient read it twice. A ReLU after a convolution is a separate pass.
// Normalization reads its input a second time, for its sums. Launches are counted by the same rules; for ops with many
// kernels they are estimates. docs/gpu.md compares the predictions with measurements.

#include <cstdint>
#include <string>
#include <vector>

#include "bench/bounds.h"
#include "plan/plan.h"

namespace dptrain::session {
struct DryPlan;
}

namespace dptrain::bench {

// The rates of a GPU by its data sheet, and the time of a pass derived from them, for GPUs that are not present. Pure
// functions; any thread.
//
// A pass takes the larger of the times of its operations and its bytes, plus the time of its launches. It reaches a
// share of the data sheet's rates, the same for all layers and all GPUs: GpuShares. The shares were fitted to the steps
// measured on an H100 in docs/gpu-results.md. docs/gpu.md lists the deviation from each measurement.

/// The units of the GPU that compute a pass.
enum class GpuUnits {
  kVector,     ///< float32, one element a thread: dptrain's own kernels
  kStrict,     ///< products of float32 with all 23 bits
  kTf32,       ///< products of float32 rounded to 10 bits
  kSixteenBit  ///< products of bfloat16 or float16
};

/// Rates per second, without sparsity.
struct GpuFigures {
  std::string name;    ///< "NVIDIA H200"
  double bytes = 0;    ///< memory bandwidth
  double float32 = 0;  ///< operations; a multiply-add counts as two
  double tf32 = 0;
  double sixteen_bit = 0;
};

/// "h100" (SXM5, 80 GB), "h200" (SXM, 141 GB), from NVIDIA's data sheets. Throws Error{kInternal} for other models.
const GpuFigures& gpu_figures(const std::string& model);

/// The shares of GpuFigures that passes reach, and the cost of a launch.
struct GpuShares {
  double bytes = 1;
  double vector = 1, strict = 1, tf32 = 1, sixteen_bit = 1;
  double launch_seconds = 0;        ///< per kernel in a recorded step
  double eager_launch_seconds = 0;  ///< additional, per kernel that the host launches
};
const GpuShares& gpu_shares();

/// Predicted time of a pass on the GPU in a recorded step.
struct GpuTime {
  double seconds = 0;
  std::string by;  ///< "products", "vectors", "memory" or "launches": the largest part of the time
};

/// `launches`: number of kernels.
GpuTime gpu_time(const PassWork& work, int launches, GpuUnits units, const GpuFigures& figures,
                 const GpuShares& shares);

/// Cost of a pass beyond plan/traffic.h and its operations.
struct PassRule {
  int launches = 1;       ///< number of kernels
  double again = 0;       ///< bytes moved in addition to plan/traffic.h
  double of_vectors = 0;  ///< operations of all samples that dptrain's own kernels compute in a pass of cuDNN
};

/// `choice`: the op's implementation(), "forward cudnn ...; data ...". `rows`: rows of the micro-batch.
PassRule forward_rule(const plan::Plan& plan, const plan::Step& step, const std::string& choice, std::int64_t rows);
PassRule backward_rule(const plan::Plan& plan, const plan::Step& step, const std::string& choice, std::int64_t rows);

struct PaperPass {
  PassWork work{};
  int launches = 0;
  GpuTime time{};
};

/// A step of the plan with both its passes, or another item that has only `forward`.
struct PaperItem {
  std::string name;  ///< "conv1", "loss", "update"
  PaperPass forward{}, backward{};
  int times = 1;  ///< executions per step: the number of micro-batches, or one
};

struct PaperStep {
  std::string gpu;  ///< "NVIDIA H200"
  std::vector<PaperItem> items;
  std::int64_t samples = 0;  ///< samples of a step
  bool trains = true;

  double operations() const;
  double bytes() const;
  int launches() const;
  /// Seconds of the whole step; `recorded`: as one CUDA graph, otherwise with separate launches.
  double seconds(bool recorded) const;
};

/// `dry`: made for a GPU on paper called `model`. `micro_batches`: of a step. `tf32`: float32 products may be rounded.
PaperStep paper_step(const session::DryPlan& dry, const std::string& model, std::int64_t micro_batches, bool tf32);

/// A table of the items with their sum, samples per second, and the memory of a replica out of `gpu_bytes`.
std::string paper_step_text(const PaperStep& step, std::uint64_t replica_bytes, std::uint64_t gpu_bytes);

}  // namespace dptrain::bench
