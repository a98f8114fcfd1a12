#include "core/floats.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace dptrain {
namespace {

/// Whether computed and loaded subnormal floats are 0 in this thread.
bool flushes() {
  volatile float least = std::numeric_limits<float>::min(), half = 0.5F, many = 0x1p20F;
  volatile float denormal = std::numeric_limits<float>::denorm_min();
  return least * half == 0.0F && denormal * many == 0.0F && least * 1.0F > 0.0F;
}

TEST(Subnormals, AreZeroInTheThreadAndItsChildren) {
  bool before = true, after = false, started = false, at_last = true;
  std::thread([&] {
    before = flushes();
    flush_subnormals();
    after = flushes();
    std::thread([&] { started = flushes(); }).join();
    keep_subnormals();
    at_last = flushes();
  }).join();
  EXPECT_FALSE(before);
  EXPECT_TRUE(after);
  EXPECT_TRUE(started);
  EXPECT_FALSE(at_last);
}

}  // namespace
}  // namespace dptrain
