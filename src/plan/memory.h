#pragma once

// Memory of one slot of a replica: every tensor and every op's private room gets an offset in one arena, by lifetime.
// Two things share bytes only when they are never alive at the same time. What another slot fetches is alive to the
// end: slots run side by side, and nobody says when it has been fetched.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace dptrain::plan {

/// Bytes an op wants besides its tensors; asked of the device's op for the largest number of rows.
struct Need {
  std::uint64_t saved = 0;    ///< alive from its forward to its backward (argmax, batch moments)
  std::uint64_t scratch = 0;  ///< alive during one call
  std::uint64_t packed = 0;   ///< alive as long as the op: a copy of its weights in a layout of its own
  std::uint64_t beside = 0;   ///< alive during one call and that of the step in front of it
};

/// By step: whether the next one runs the last pass of its forward (backend/piecewise.h), so that what it reads lives
/// until then. Empty: none.
using Leads = std::vector<bool>;

struct MemoryPlan {
  std::int64_t rows = 0;
  std::uint64_t arena_bytes = 0;               ///< activations, their gradients, saved room, scratch
  std::vector<std::uint64_t> tensor_offset{};  ///< per tensor (external ones: unused)
  std::vector<std::uint64_t> saved_offset{};   ///< per step
  std::uint64_t scratch_offset = 0;            ///< one region for all calls
  std::uint64_t scratch_bytes = 0;
  std::uint64_t beside_offset = 0;             ///< within that region, behind what is alive during one call
  std::uint64_t packed_bytes = 0;              ///< an arena of its own, the same in both modes
  std::vector<std::uint64_t> packed_offset{};  ///< per step, in that arena
  std::uint64_t activation_bytes = 0;          ///< sum of all tensors without sharing, for the table
};

/// What a memory plan is for: forward only needs less.
enum class Mode { kTraining, kInference };

/// `loss_need`: of the losses in that slot. Needs of steps in other slots do not count.
MemoryPlan plan_memory(const Plan& plan, const std::vector<Need>& needs, const Need& loss_need, std::int64_t rows,
                       Mode mode, int slot = 0, const Leads& leads = {});

/// First and last moment a tensor is alive on the time line forward 0..S-1, loss S, backward S+1.. ; for tests and
/// printing.
struct Lifetime {
  int first = 0, last = -1;
};
std::vector<Lifetime> tensor_lifetimes(const Plan& plan, Mode mode, const Leads& leads = {});

/// The text of `summary --plan`: steps with shapes, fusions, `choices[step]` (the device's implementation per pass, may
/// be empty), buckets, and the memory table (parameters, gradients, state of the optimizer, arena). `others`: of the
/// slots behind the first.
std::string print(const Plan& plan, const MemoryPlan& memory, const std::vector<std::string>& choices, int states,
                  const std::vector<MemoryPlan>& others = {});

}  // namespace dptrain::plan
