#include "runtime/timed_collective.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace dptrain::runtime {
namespace {

class Slow final : public backend::Collective {
 public:
  int rank() const override { return 1; }
  int size() const override { return 3; }
  void all_gather(const void* mine, std::int64_t, void* all, backend::Stream&) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    *static_cast<int*>(all) = *static_cast<const int*>(mine);
  }
};

TEST(TimedCollective, AddsUpTheTimeOfGathers) {
  Slow inner;
  double seconds = 1;
  TimedCollective timed(inner, seconds);
  EXPECT_EQ(timed.rank(), 1);
  EXPECT_EQ(timed.size(), 3);
  const int mine = 7;
  int all = 0;
  backend::Stream stream;
  timed.all_gather(&mine, sizeof(mine), &all, stream);
  timed.all_gather(&mine, sizeof(mine), &all, stream);
  EXPECT_EQ(all, 7);
  EXPECT_GE(seconds, 1.006);
}

}  // namespace
}  // namespace dptrain::runtime
