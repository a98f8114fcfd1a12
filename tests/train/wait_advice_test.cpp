// The warning about waits: when it appears, and its advice.

#include <gtest/gtest.h>

#include "train/step_log.h"

namespace dptrain::train {
namespace {

const MachineUse kIdle{.workers = 1, .load = 2.5, .own_threads = 3, .cores = 4};

TEST(WaitingText, SuggestsHowToReduceWaits) {
  EXPECT_EQ(waiting_text({.for_data = 3, .elapsed = 20}, kIdle),
            "15 % of the time so far was spent waiting for data; try more loader workers (data.loader.workers, now 1)");
  EXPECT_EQ(waiting_text({.for_replicas = 5, .elapsed = 20}, kIdle),
            "25 % of the time so far was spent waiting for other replicas; try a larger batch or fewer replicas");
  EXPECT_EQ(waiting_text({.for_data = 3, .for_replicas = 5, .elapsed = 20}, kIdle),
            "15 % of the time so far was spent waiting for data, 25 % waiting for other replicas; try more loader "
            "workers (data.loader.workers, now 1) or a larger batch or fewer replicas");
}

TEST(WaitingText, RequiresATenthOfTheTimeAndTwoSeconds) {
  EXPECT_EQ(waiting_text({.for_data = 1.5, .for_replicas = 1.5, .elapsed = 40}, kIdle), "") << "less than a tenth";
  EXPECT_EQ(waiting_text({.for_data = 1, .elapsed = 2}, kIdle), "") << "a second";
}

TEST(WaitingText, NamesABusyMachine) {
  MachineUse use = kIdle;
  use.load = 5;
  EXPECT_EQ(
      waiting_text({.for_replicas = 5, .elapsed = 20}, use),
      "25 % of the time so far was spent waiting for other replicas; other programs keep about 2 of 4 cores busy; "
      "try a larger batch or fewer replicas");
  use.load = 100;
  EXPECT_NE(waiting_text({.for_replicas = 5, .elapsed = 20}, use).find("about 4 of 4 cores"), std::string::npos);
  use.on_cpus = false;
  EXPECT_EQ(waiting_text({.for_replicas = 5, .elapsed = 20}, use).find("cores"), std::string::npos);
}

}  // namespace
}  // namespace dptrain::train
