#include "bench/bounds.h"

#include <algorithm>

#include "core/format.h"
#include "core/text.h"

namespace dptrain::bench {

Bound bound_of(const PassWork& work, const backend::CpuLimits& limits) {
  constexpr double kMs = 1e3, kGiga = 1e9;
  Bound bound;
  if (limits.peak_gflops > 0 && work.operations > 0) {
    bound.ms = work.operations / (limits.peak_gflops * kGiga) * kMs;
    bound.by = "fma";
  }
  const backend::MemoryLevel* const level = limits.level_of(work.set);
  if (level == nullptr) return bound;
  bound.level = level->name;
  if (level->best_gbps() <= 0) return bound;
  const double moving = work.bytes / (level->best_gbps() * kGiga) * kMs;
  if (moving > bound.ms) {
    bound.ms = moving;
    bound.by = level->name;
  }
  return bound;
}

double bound_ms(const std::vector<PassTime>& passes) {
  double sum = 0;
  for (const PassTime& pass : passes) sum += pass.bound.ms;
  return sum;
}

std::string passes_far_from_bounds(const std::vector<PassTime>& passes) {
  constexpr std::size_t kMax = 3;
  std::vector<PassTime> slow;
  for (const PassTime& pass : passes)
    if (pass.lost_ms() > 0) slow.push_back(pass);
  std::ranges::stable_sort(slow, [](const PassTime& a, const PassTime& b) { return a.lost_ms() > b.lost_ms(); });
  if (slow.size() > kMax) slow.resize(kMax);
  std::vector<std::string> words;
  for (const PassTime& pass : slow)
    words.push_back(fmt::format("{} {:.3g} ms (bound {:.3g})", pass.name, pass.ms, pass.bound.ms));
  return words.empty() ? "" : "farthest from their bounds: " + join(words, ", ");
}

}  // namespace dptrain::bench
