#pragma once

// LifetimeCheck: in builds with AddressSanitizer, poisons the bytes of a slot's arena that no tensor, saved tensor or
// scratch uses at a moment of the plan (plan::Lifetime). An op that accesses them is reported as use-after-poison.
// Device::set_poisoned() queues the change, so it takes effect when the stream executes that moment.
//
// Limits: code without instrumentation (oneDNN, GPUs) is not checked. Tensors that other slots fetch stay alive to the
// end of the pass, and saved tensors have their size for the largest number of rows. In other builds all functions are
// empty. Owned by a StepRunner, used on its thread.
//
//   LifetimeCheck lifetimes(plan, device, stream, slot);
//   lifetimes.add(plan::Mode::kTraining, memory, needs, loss_need, deferred, arena);
//   lifetimes.begin(plan::Mode::kTraining, rows);      // of a pass
//   lifetimes.before(lifetimes.forward(step));
//   ...                                                // queue the step
//   lifetimes.after(lifetimes.forward(step));

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/device.h"
#include "core/index.h"
#include "core/poisoning.h"
#include "plan/memory.h"

namespace dptrain::runtime {

class LifetimeCheck {
 public:
  LifetimeCheck(const plan::Plan& plan, backend::Device& device, backend::Stream& stream, int slot)
      : plan_(plan), device_(device), stream_(stream), slot_(slot) {}

  /// The memory plan of a mode; the other arguments are those from which it was made.
  void add(plan::Mode mode, const plan::MemoryPlan& memory, const std::vector<plan::Need>& needs,
           const plan::Need& loss_need, const plan::DeferredPasses& deferred, std::byte* arena);

  /// Begins a pass over `rows` samples. No work of the last pass is running, also in other slots.
  void begin(plan::Mode mode, std::int64_t rows) {
    if constexpr (kPoisoning) poison_all(mode, rows);
  }

  // Moments of plan::Lifetime.
  std::size_t forward(std::size_t step) const { return step; }
  std::size_t losses() const { return plan_.steps.size(); }
  std::size_t backward(std::size_t item) const { return losses() + 1 + item; }

  void before(std::size_t moment) {
    if constexpr (kPoisoning) mark(moments_of_pass()[moment].begin, false);
  }
  void after(std::size_t moment) {
    if constexpr (kPoisoning) mark(moments_of_pass()[moment].end, true);
  }
  /// Before and after a step packs its weights.
  void set_packing(std::size_t step, bool packing) {
    if constexpr (kPoisoning) mark({modes_[mode_].scratch[step]}, !packing);
  }

 private:
  /// Bytes of the arena; of a tensor, those of the rows of the pass.
  struct Region {
    std::uint64_t offset = 0, bytes = 0;
    int tensor = plan::kAbsent;
  };
  using Regions = std::vector<Region>;
  struct Moment {
    Regions begin, end;  ///< of lifetimes
  };
  struct ModeRegions {
    std::byte* arena = nullptr;
    std::uint64_t arena_bytes = 0;
    std::vector<Moment> moments;  ///< forward, losses, backward
    std::vector<Region> scratch;  ///< per step
  };

  const std::vector<Moment>& moments_of_pass() const { return modes_[mode_].moments; }
  void poison_all(plan::Mode mode, std::int64_t rows);
  void mark(const Regions& regions, bool poisoned);

  const plan::Plan& plan_;
  backend::Device& device_;
  backend::Stream& stream_;
  const int slot_;
  std::array<ModeRegions, 2> modes_;  ///< by plan::Mode
  std::size_t mode_ = 0;              ///< of the pass
  std::int64_t rows_ = 0;             ///< of the pass
};

}  // namespace dptrain::runtime
