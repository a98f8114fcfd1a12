// When the log says that a run waits.

#include <gtest/gtest.h>

#include "train/step_log.h"

namespace dptrain::train {
namespace {

TEST(WaitingText, IsForWaitsThatCostATenthOfTheTime) {
  EXPECT_EQ(waiting_text(2.5, 2.5, 20),
            "12 % of the time so far went into waiting for data, 12 % into waiting for other replicas; `dptrain bench` "
            "says what would help");
  EXPECT_EQ(waiting_text(1.5, 1.5, 40), "") << "less than a tenth";
  EXPECT_EQ(waiting_text(1, 0, 2), "") << "a second";
}

}  // namespace
}  // namespace dptrain::train
