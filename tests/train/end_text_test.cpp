#include "train/run_directory.h"

#include <gtest/gtest.h>

namespace dptrain::train {
namespace {

TEST(EndText, ReportsWhyARunEnded) {
  EXPECT_EQ(exit_text("completed"), "completed");
  EXPECT_EQ(exit_text("diverged"), "training diverged");
  EXPECT_NE(exit_text("signal"), exit_text("max_time"));
  EXPECT_EQ(exit_text("of a later version"), "of a later version");
  EXPECT_EQ(exit_text(""), "ended (no exit status recorded)");
}

}  // namespace
}  // namespace dptrain::train
