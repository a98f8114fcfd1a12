// PeriodicCheck calls its function only between begin and end.

#include "runtime/periodic_check.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace dptrain::runtime {
namespace {

constexpr double kNoTime = 1e-5;  // seconds

TEST(PeriodicCheck, CallsBetweenBeginAndEnd) {
  int checks = 0;  // accessed by the check while it is active, otherwise by the test
  std::atomic<int> seen{0};
  PeriodicCheck check(kNoTime, [&] { seen = ++checks; });
  for (int round = 0; round < 20; ++round) {
    int before = 0;
    check.begin([&] { before = checks; });
    while (seen < before + 3) std::this_thread::yield();
    int after = 0;
    check.end([&] { after = checks; });
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    check.begin([&] { EXPECT_EQ(checks, after) << "a call after end()"; });
    check.end([] {});
  }
}

TEST(PeriodicCheck, EndsBeforeAndDuringACall) {
  for (int round = 0; round < 20; ++round) {
    const PeriodicCheck never(300, [] { FAIL() << "too early"; });
    std::atomic<int> checks{0};
    PeriodicCheck on(kNoTime, [&] { ++checks; });
    on.begin([] {});
    while (checks == 0) std::this_thread::yield();
  }
}

}  // namespace
}  // namespace dptrain::runtime
