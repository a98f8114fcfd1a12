#include "kernels/cpu/isa.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string_view>

#include "kernels/cpu/concurrent_timing.h"

#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/isa.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

// Two multiply-add units of latency 4 or 5 need 10 chains; 12 fit the 16 registers of AVX2.
inline constexpr int kChains = 12;

const char* target_name() {
  const char* name = hwy::TargetName(HWY_TARGET);
  return std::string_view(name) == "AVX3" ? "AVX-512" : name;  // the usual name for Highway's AVX3
}

int vector_floats() { return static_cast<int>(kLanes); }

/// Runs `rounds` multiply-adds in each chain and returns a value that depends on all of them.
float multiply_adds(int64_t rounds) {
  const Vec factor = splat(0.999F), term = splat(0.001F);  // converges to 1: no overflow, no denormals
  Vec chain[kChains];
  for (int k = 0; k < kChains; ++k) chain[k] = splat(static_cast<float>(k));
  for (int64_t round = 0; round < rounds; ++round)
    for (int k = 0; k < kChains; ++k) chain[k] = hn::MulAdd(chain[k], factor, term);
  for (int k = 1; k < kChains; ++k) chain[0] = hn::Add(chain[0], chain[k]);
  return sum_lanes(chain[0]);
}

// Independent vectors: enough to hide the latency of an addition, few enough for 16 registers.
inline constexpr int kStreams = 8;

/// Separates two rounds: the compiler must not merge them while an element is in a register.
HWY_INLINE void end_round() { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// Reads all of x `rounds` times; the result depends on all of it.
float read_all(const float* x, int64_t n, int64_t rounds) {
  Vec sum[kStreams];
  for (int k = 0; k < kStreams; ++k) sum[k] = hn::Zero(kFloats);
  for (int64_t round = 0; round < rounds; ++round) {
    for (int64_t i = 0; i < n; i += kStreams * kLanes)
      for (int k = 0; k < kStreams; ++k) sum[k] = hn::Add(sum[k], hn::Load(kFloats, x + i + k * kLanes));
    end_round();
  }
  for (int k = 1; k < kStreams; ++k) sum[0] = hn::Add(sum[0], sum[k]);
  return sum_lanes(sum[0]);
}

void update_all(float* x, int64_t n, int64_t rounds) {
  const Vec one = splat(1.0F);
  for (int64_t round = 0; round < rounds; ++round) {
    for (int64_t i = 0; i < n; i += kStreams * kLanes)
      for (int k = 0; k < kStreams; ++k) {
        float* const at = x + i + k * kLanes;
        hn::Store(hn::Sub(one, hn::Load(kFloats, at)), kFloats, at);
      }
    end_round();
  }
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
constexpr int64_t kRounds = 150000;  // about 1 ms a run at 2 to 3 GHz: long for the clock, short for preemption
}  // namespace

const char* isa_name() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

void limit_isa(IsaLimit limit) {
  const int64_t most = limit == IsaLimit::kSse4 ? HWY_SSE4 : HWY_AVX2;
  hwy::DisableTargets(most - 1);  // better sets have lower bits
}

int isa_vector_floats() { return HWY_DYNAMIC_DISPATCH(vector_floats)(); }

namespace {

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

double measure_fma_peak_gflops_of_all_threads() {
  volatile float sink = 0.0F;
  double best_seconds = 1e9;
  for (int run = 0; run < kRuns; ++run)
    best_seconds = std::min(best_seconds, seconds_on_all_threads([&](int slot) {
                              const float sum = HWY_DYNAMIC_DISPATCH(multiply_adds)(kRounds);
                              if (slot == 0) sink = sum;
                            }));
  static_cast<void>(sink);
  return gflops(thread_count(), best_seconds);
}

HWY_EXPORT(read_all);
HWY_EXPORT(update_all);

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kRunFloats = int64_t{1} << 20;    // per thread, 4 MiB: long for the clock, short for a time slice
constexpr std::chrono::milliseconds kTime{20};      // of all runs of a kind
constexpr std::chrono::milliseconds kMaxTime{100};  // on a busy machine, until kWantedRuns
constexpr int kMinRuns = 3, kWantedRuns = 30, kMaxRuns = 200;

/// The floats of one run: all of a thread several times, or the next part, as the previous one may still be in a cache.
struct Pass {
  int64_t begin = 0, floats = 0, rounds = 1;
};

Pass pass_of(int64_t run, int64_t floats) {
  if (floats <= kRunFloats) return {.begin = 0, .floats = floats, .rounds = kRunFloats / floats};
  const int64_t parts = floats / kRunFloats;
  return {.begin = run % parts * kRunFloats, .floats = kRunFloats};
}

/// GB/s of all threads together, in the fastest of several runs of f(slot, Pass).
template <class F>
double best_rate(int64_t floats, const F& f) {
  const Clock::time_point begin = Clock::now();
  double best = 0;
  const auto continues = [&](int run) {
    const auto taken = Clock::now() - begin;
    return run < kMinRuns || (run < kMaxRuns && taken < (run < kWantedRuns ? kMaxTime : kTime));
  };
  for (int run = 0; continues(run); ++run) {
    const Pass pass = pass_of(run, floats);
    const double seconds = seconds_on_all_threads([&](int slot) { f(slot, pass); });
    const double bytes = static_cast<double>(pass.floats * pass.rounds) * sizeof(float) * thread_count();
    best = std::max(best, bytes / seconds * 1e-9);
  }
  return best;
}

}  // namespace

Bandwidth measure_bandwidth(float* memory, int64_t floats) {
  seconds_on_all_threads([&](int slot) { std::fill_n(memory + slot * floats, floats, 0.25F); });  // the first touch
  volatile float sink = 0.0F;
  const double read = best_rate(floats, [&](int slot, const Pass& pass) {
    const float* const x = memory + slot * floats + pass.begin;
    const float sum = HWY_DYNAMIC_DISPATCH(read_all)(x, pass.floats, pass.rounds);
    if (slot == 0) sink = sum;
  });
  static_cast<void>(sink);
  const double updated = best_rate(floats, [&](int slot, const Pass& pass) {
    HWY_DYNAMIC_DISPATCH(update_all)(memory + slot * floats + pass.begin, pass.floats, pass.rounds);
  });
  return {.read = read, .update = 2 * updated};
}

}  // namespace dptrain::kernels::cpu
#endif
