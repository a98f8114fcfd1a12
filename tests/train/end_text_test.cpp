#include "train/end_text.h"

#include <gtest/gtest.h>

namespace dptrain::train {
namespace {

TEST(EndText, Durations) {
  EXPECT_EQ(duration_text(0.8412), "0.84 s");
  EXPECT_EQ(duration_text(9.96), "10 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(59.6), "1 min 00 s");
  EXPECT_EQ(duration_text(3'725), "1 h 02 min");
}

TEST(EndText, WhyARunEnded) {
  EXPECT_EQ(exit_text("completed"), "completed");
  EXPECT_EQ(exit_text("diverged"), "training diverged");
  EXPECT_NE(exit_text("signal"), exit_text("max_time"));
  EXPECT_EQ(exit_text("of a later version"), "of a later version");
  EXPECT_EQ(exit_text(""), "ended, and nobody wrote how");
}

}  // namespace
}  // namespace dptrain::train
