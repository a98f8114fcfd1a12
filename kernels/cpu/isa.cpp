#include "kernels/cpu/isa.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "kernels/cpu/side_by_side.h"

#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/isa.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

// Two multiply-add units of latency 4 or 5 need 10 chains; 12 leave room in the 16 registers of AVX2.
inline constexpr int kChains = 12;

const char* target_name() {
  const char* name = hwy::TargetName(HWY_TARGET);
  return std::string_view(name) == "AVX3" ? "AVX-512" : name;  // Highway's name for it is nobody else's
}

int vector_floats() { return static_cast<int>(kLanes); }

/// Runs `rounds` multiply-adds in each chain and returns something that depends on all of them.
float multiply_adds(int64_t rounds) {
  const Vec factor = splat(0.999F), term = splat(0.001F);  // converges to 1: no overflow, no denormals
  Vec chain[kChains];
  for (int k = 0; k < kChains; ++k) chain[k] = splat(static_cast<float>(k));
  for (int64_t round = 0; round < rounds; ++round)
    for (int k = 0; k < kChains; ++k) chain[k] = hn::MulAdd(chain[k], factor, term);
  for (int k = 1; k < kChains; ++k) chain[0] = hn::Add(chain[0], chain[k]);
  return sum_lanes(chain[0]);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(target_name);
HWY_EXPORT(vector_floats);
HWY_EXPORT(multiply_adds);

namespace {
constexpr int kRuns = 20;
constexpr int64_t kRounds = 150000;  // about 1 ms a run at 2 to 3 GHz: long against the clock, short against preemption
}  // namespace

const char* isa_name() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

void limit_isa(IsaLimit limit) {
  const int64_t most = limit == IsaLimit::kSse4 ? HWY_SSE4 : HWY_AVX2;
  hwy::DisableTargets(most - 1);  // the better a set, the lower its bit
}

int isa_vector_floats() { return HWY_DYNAMIC_DISPATCH(vector_floats)(); }

namespace {

/// Of so many threads, each of which has done kRounds in the time.
double gflops(int threads, double seconds) {
  return 2.0 * threads * kRounds * HWY_STATIC_DISPATCH(kChains) * isa_vector_floats() / seconds * 1e-9;
}

}  // namespace

double measure_fma_peak_gflops() {
  using Clock = std::chrono::steady_clock;
  volatile float sink = 0.0F;
  double best_seconds = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    const Clock::time_point start = Clock::now();
    sink = HWY_DYNAMIC_DISPATCH(multiply_adds)(kRounds);
    best_seconds = std::min(best_seconds, std::chrono::duration<double>(Clock::now() - start).count());
  }
  static_cast<void>(sink);
  return gflops(1, best_seconds);
}

double measure_fma_peak_gflops_side_by_side() {
  volatile float sink = 0.0F;
  double best_seconds = 1e9;
  for (int run = 0; run < kRuns; ++run)
    best_seconds = std::min(best_seconds, seconds_side_by_side([&](int slot) {
                              const float sum = HWY_DYNAMIC_DISPATCH(multiply_adds)(kRounds);
                              if (slot == 0) sink = sum;
                            }));
  static_cast<void>(sink);
  return gflops(thread_count(), best_seconds);
}

}  // namespace dptrain::kernels::cpu
#endif
