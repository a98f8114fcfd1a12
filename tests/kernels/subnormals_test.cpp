#include "kernels/cpu/subnormals.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <limits>
#include <thread>

#include "kernels/cpu/parallel.h"

namespace dptrain::kernels::cpu {
namespace {

/// Whether a subnormal float that this thread computes, and one that it reads, are 0.
bool flushes() {
  volatile float least = std::numeric_limits<float>::min(), half = 0.5F, many = 0x1p20F;
  volatile float denormal = std::numeric_limits<float>::denorm_min();
  return least * half == 0.0F && denormal * many == 0.0F && least * 1.0F > 0.0F;
}

TEST(Subnormals, AreZerosInTheThreadAndInThoseThatItStarts) {
  bool before = true, after = false, started = false;
  std::thread([&] {
    before = flushes();
    flush_subnormals();
    after = flushes();
    std::thread([&] { started = flushes(); }).join();
  }).join();
  EXPECT_FALSE(before);
  EXPECT_TRUE(after);
  EXPECT_TRUE(started);
}

TEST(Subnormals, AreZerosInTheHelpersOfAThreadThatFlushesThem) {
  constexpr int kThreads = 3;
  std::array<bool, kThreads> found{};
  std::thread([&] {
    flush_subnormals();
    set_thread_count(kThreads);
    std::atomic<int> arrived{0};
    parallel_slots(kThreads, [&](std::int64_t, int slot) {
      ++arrived;
      while (arrived < kThreads) std::this_thread::yield();  // so that each thread has a piece
      found[static_cast<std::size_t>(slot)] = flushes();
    });
  }).join();
  for (const bool flushed : found) EXPECT_TRUE(flushed);
}

}  // namespace
}  // namespace dptrain::kernels::cpu
