#pragma once

// Runs a kernel on each instruction set of this machine, with one thread and with three, into outputs filled with NaN
// and guarded on both sides; compares with a naive reference in double, and the two thread counts bit by bit.

#include <gtest/gtest.h>

#include "kernels/cpu/targets.h"

#include <hwy/targets.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/parallel.h"

namespace dptrain::kernels::cpu::test {

/// Calls f once per compiled instruction set that this machine supports.
template <class F>
void on_every_target(const F& f) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    SCOPED_TRACE(hwy::TargetName(target));
    f();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

inline void use_threads(int threads) { set_thread_count(threads); }

/// Uniform numbers that depend only on the seed.
inline std::vector<float> random_floats(int64_t n, uint32_t seed, float low = -2.0F, float high = 2.0F) {
  std::mt19937 generator(seed);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = low + (high - low) * static_cast<float>(generator() >> 8) / 16777216.0F;
  return values;
}

/// Returns the n elements that `write` leaves in an output filled with `poison`; expects unchanged guards.
template <class T>
std::vector<T> written(int64_t n, T poison, const std::function<void(T*)>& write) {
  constexpr size_t kGuard = 32;
  const size_t size = static_cast<size_t>(n);
  std::vector<T> memory(size + 2 * kGuard, poison);
  const std::vector<T> untouched(kGuard, poison);
  write(memory.data() + kGuard);
  EXPECT_EQ(std::memcmp(memory.data(), untouched.data(), kGuard * sizeof(T)), 0) << "wrote before the output";
  EXPECT_EQ(std::memcmp(memory.data() + kGuard + size, untouched.data(), kGuard * sizeof(T)), 0)
      << "wrote past the output";
  return {memory.begin() + kGuard, memory.begin() + kGuard + static_cast<std::ptrdiff_t>(size)};
}

inline std::vector<float> written_floats(int64_t n, const std::function<void(float*)>& write) {
  return written<float>(n, std::numeric_limits<float>::quiet_NaN(), write);
}

inline void expect_near(const std::vector<double>& expected, const std::vector<float>& found, double relative,
                        double absolute) {
  ASSERT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const double value = static_cast<double>(found[i]);
    if (expected[i] == value) continue;  // including infinities
    ASSERT_LE(std::abs(expected[i] - value), absolute + relative * std::abs(expected[i]))
        << "element " << i << ": expected " << expected[i] << ", found " << value;
  }
}

/// Calls `run` on every instruction set and thread count and compares its result.
inline void agrees(const std::vector<double>& expected, double relative, double absolute,
                   const std::function<std::vector<float>()>& run) {
  on_every_target([&] {
    use_threads(1);
    const std::vector<float> alone = run();
    expect_near(expected, alone, relative, absolute);
    use_threads(3);
    const std::vector<float> shared = run();
    use_threads(1);
    ASSERT_EQ(alone.size(), shared.size());
    EXPECT_TRUE(alone.empty() || std::memcmp(alone.data(), shared.data(), alone.size() * sizeof(float)) == 0)
        << "the result depends on the number of threads";
  });
}

/// Requires exact equality.
template <class T>
std::vector<double> exactly(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

inline double at(const std::vector<float>& values, int64_t i) {
  return static_cast<double>(values[static_cast<size_t>(i)]);
}

}  // namespace dptrain::kernels::cpu::test
