#pragma once

// Memory of one slot of a replica. Every tensor and every op's scratch and saved tensors get an offset in one arena.
// Blocks share bytes only if their lifetimes do not overlap. A tensor that another slot fetches stays alive to the end,
// since slots run concurrently and do not report when a fetch has finished.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace dptrain::plan {

/// Bytes that an op needs in addition to its tensors, as the device's op reports them for the largest number of rows.
struct Need {
  std::uint64_t saved = 0;               ///< from its forward to its backward: argmax, batch moments
  std::uint64_t scratch = 0;             ///< during one call
  std::uint64_t packed = 0;              ///< a copy of its weights in another layout, as long as the op
  std::uint64_t first_pass_scratch = 0;  ///< during its call and those of the adjacent steps
};

/// Per step: whether the next step runs the last pass of its forward (backend/fusible_passes.h), so that its inputs
/// live until then. Empty: no step.
using DeferredPasses = std::vector<bool>;

struct MemoryPlan {
  std::int64_t rows = 0;
  std::uint64_t arena_bytes = 0;               ///< activations, their gradients, saved tensors, scratch
  std::vector<std::uint64_t> tensor_offset{};  ///< per tensor; unused for external ones
  std::vector<std::uint64_t> saved_offset{};   ///< per step
  std::uint64_t scratch_offset = 0;            ///< one region for all calls
  std::uint64_t scratch_bytes = 0;
  std::uint64_t first_pass_scratch_offset = 0;  ///< within that region, after Need::scratch
  std::uint64_t packed_bytes = 0;               ///< size of a separate arena, the same in both modes
  std::vector<std::uint64_t> packed_offset{};   ///< per step, in that arena
  std::uint64_t activation_bytes = 0;           ///< sum of all tensors without sharing, for printing
};

/// kInference runs forward only and needs less memory.
enum class Mode { kTraining, kInference };

/// `loss_need`: need of the losses in that slot. Needs of steps in other slots do not count.
MemoryPlan plan_memory(const Plan& plan, const std::vector<Need>& needs, const Need& loss_need, std::int64_t rows,
                       Mode mode, int slot = 0, const DeferredPasses& deferred = {});

/// Moments at which a tensor is alive: forward 0..S-1, loss S, backward S+1 and up. For tests, printing and
/// LifetimeCheck.
struct Lifetime {
  int first = 0, last = -1;
};
std::vector<Lifetime> tensor_lifetimes(const Plan& plan, Mode mode, const DeferredPasses& deferred = {});
/// Of the saved tensors, per step.
std::vector<Lifetime> saved_lifetimes(const Plan& plan, Mode mode, const DeferredPasses& deferred = {});

/// The text of `summary --plan`: steps, fusions, buckets and the memory table. `choices[step]` is the device's
/// implementation per pass; `choices` may be empty. `others`: memory of the secondary slots.
std::string print(const Plan& plan, const MemoryPlan& memory, const std::vector<std::string>& choices, int states,
                  const std::vector<MemoryPlan>& others = {});

}  // namespace dptrain::plan
