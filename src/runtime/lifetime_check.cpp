#include "runtime/lifetime_check.h"

#include <algorithm>

namespace dptrain::runtime {

void LifetimeCheck::add(plan::Mode mode, const plan::MemoryPlan& memory, const std::vector<plan::Need>& needs,
                        const plan::Need& loss_need, const plan::DeferredPasses& deferred, std::byte* arena) {
  if constexpr (!kPoisoning) return;
  ModeRegions& regions = modes_[static_cast<std::size_t>(mode)];
  regions = {.arena = arena, .arena_bytes = memory.arena_bytes, .moments = {}, .scratch = {}};
  // Lifetimes may end one moment after the last item.
  regions.moments.resize(backward(plan_.backward.size()) + 1);
  const auto live = [&](const plan::Lifetime& life, const Region& region) {
    if (life.last < 0) return;
    regions.moments[at(life.first)].begin.push_back(region);
    regions.moments[at(life.last)].end.push_back(region);
  };

  const std::vector<plan::Lifetime> tensors = plan::tensor_lifetimes(plan_, mode, deferred);
  for (std::size_t t = 0; t < tensors.size(); ++t)
    if (plan_.tensors[t].alias_of == plan::kAbsent && plan_.tensors[t].slot == slot_)
      live(tensors[t], {.offset = memory.tensor_offset[t], .tensor = static_cast<int>(t)});

  const std::vector<plan::Lifetime> saved = plan::saved_lifetimes(plan_, mode, deferred);
  for (std::size_t s = 0; s < needs.size(); ++s)
    if (needs[s].saved > 0) live(saved[s], {.offset = memory.saved_offset[s], .bytes = needs[s].saved});

  // Scratch of different steps overlaps, so each moment begins and ends it.
  const auto live_at = [&](std::size_t moment, const Region& region) {
    live({static_cast<int>(moment), static_cast<int>(moment)}, region);
  };
  const auto first_pass_scratch = [&](std::size_t s) -> Region {
    return {.offset = memory.scratch_offset + memory.first_pass_scratch_offset, .bytes = needs[s].first_pass_scratch};
  };
  for (std::size_t s = 0; s < needs.size(); ++s) {
    regions.scratch.push_back({.offset = memory.scratch_offset, .bytes = needs[s].scratch});
    live_at(forward(s), regions.scratch[s]);
    live_at(forward(s), first_pass_scratch(s));
    if (s > 0) live_at(forward(s - 1), first_pass_scratch(s));
    // In inference, it contains the operands of the last pass.
    if (s < deferred.size() && deferred[s]) live_at(forward(s + 1), first_pass_scratch(s));
  }
  live_at(losses(), {.offset = memory.scratch_offset, .bytes = std::max(loss_need.scratch, loss_need.saved)});
  for (std::size_t i = 0; i < plan_.backward.size(); ++i) {
    if (plan_.backward[i].kind != plan::BackwardItem::Kind::kStep) continue;
    live_at(backward(i), regions.scratch[at(plan_.backward[i].step)]);
    live_at(backward(i), first_pass_scratch(at(plan_.backward[i].step)));
  }
}

void LifetimeCheck::poison_all(plan::Mode mode, std::int64_t rows) {
  mode_ = static_cast<std::size_t>(mode);
  rows_ = rows;
  device_.set_poisoned(modes_[mode_].arena, modes_[mode_].arena_bytes, true, stream_);
}

void LifetimeCheck::mark(const Regions& regions, bool poisoned) {
  for (const Region& region : regions) {
    const std::uint64_t bytes =
        region.tensor == plan::kAbsent ? region.bytes : plan_.tensors[at(region.tensor)].bytes(rows_);
    if (bytes > 0) device_.set_poisoned(modes_[mode_].arena + region.offset, bytes, poisoned, stream_);
  }
}

}  // namespace dptrain::runtime
