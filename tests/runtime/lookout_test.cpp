// The Lookout calls its function only between begin and end.

#include "runtime/lookout.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace dptrain::runtime {
namespace {

constexpr double kNoTime = 1e-5;  // seconds

TEST(Lookout, LooksBetweenBeginAndEnd) {
  int looks = 0;  // accessed by the lookout while it is active, otherwise by the test
  std::atomic<int> seen{0};
  Lookout lookout(kNoTime, [&] { seen = ++looks; });
  for (int round = 0; round < 20; ++round) {
    int before = 0;
    lookout.begin([&] { before = looks; });
    while (seen < before + 3) std::this_thread::yield();
    int after = 0;
    lookout.end([&] { after = looks; });
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    lookout.begin([&] { EXPECT_EQ(looks, after) << "nobody was to be looked at"; });
    lookout.end([] {});
  }
}

TEST(Lookout, MayEndAtOnceAndWhileItLooks) {
  for (int round = 0; round < 20; ++round) {
    const Lookout never(300, [] { FAIL() << "too early"; });
    std::atomic<int> looks{0};
    Lookout on(kNoTime, [&] { ++looks; });
    on.begin([] {});
    while (looks == 0) std::this_thread::yield();
  }
}

}  // namespace
}  // namespace dptrain::runtime
