#include "kernels/cpu/isa.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/aligned_floats.h"
#include "kernels/cpu/concurrent_timing.h"
#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

TEST(SecondsOnAllThreads, CallsEveryThreadOnce) {
  for (int round = 0; round < 20; ++round)
    for (const int threads : {1, 2, 3}) {
      set_thread_count(threads);
      std::vector<int> calls(static_cast<std::size_t>(threads));
      const double seconds = seconds_on_all_threads([&](int slot) { ++calls[static_cast<std::size_t>(slot)]; });
      EXPECT_EQ(calls, std::vector<int>(static_cast<std::size_t>(threads), 1));
      EXPECT_GE(seconds, 0);
    }
  set_thread_count(1);
}

TEST(Bandwidth, IsPositiveAndStaysInBoundsOnEveryTarget) {
  constexpr int64_t kFloats = 2048;
  test::on_every_target([&] {
    for (const int threads : {1, 2}) {
      set_thread_count(threads);
      test::AlignedFloats memory(threads * kFloats + 16);
      for (int64_t i = threads * kFloats; i < threads * kFloats + 16; ++i) memory.data()[i] = 7;
      const Bandwidth found = measure_bandwidth(memory.data(), kFloats);
      for (const double gbps : {found.read, found.update}) {
        EXPECT_GT(gbps, 0);
        EXPECT_LT(gbps, 1e5) << "more means that a loop was optimised away";
      }
      for (int64_t i = 0; i < threads * kFloats; ++i)
        EXPECT_TRUE(memory.data()[i] == 0.25F || memory.data()[i] == 0.75F);
      for (int64_t i = threads * kFloats; i < threads * kFloats + 16; ++i) EXPECT_EQ(memory.data()[i], 7);
    }
  });
  set_thread_count(1);
}

}  // namespace
}  // namespace dptrain::kernels::cpu
