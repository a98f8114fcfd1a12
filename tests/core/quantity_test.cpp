#include "core/quantity.h"

#include <gtest/gtest.h>

namespace dptrain {
namespace {

TEST(Quantity, SmallRatesHaveThreeDigits) {
  EXPECT_EQ(rate_text(12345.6), "12,346");
  EXPECT_EQ(rate_text(100), "100");
  EXPECT_EQ(rate_text(99.96), "100");
  EXPECT_EQ(rate_text(23.45), "23.4");
  EXPECT_EQ(rate_text(9.996), "10.0");
  EXPECT_EQ(rate_text(1.234), "1.23");
  EXPECT_EQ(rate_text(0), "0.00");
  EXPECT_EQ(speed_text(1234.4), "1,234 samples/s");
}

TEST(Quantity, NounsFollowTheirCount) {
  EXPECT_EQ(counted(1, "epoch"), "1 epoch");
  EXPECT_EQ(counted(12, "epoch"), "12 epochs");
  EXPECT_EQ(counted(4690, "step"), "4,690 steps");
  EXPECT_EQ(counted(0, "class"), "0 classes");
  EXPECT_EQ(counted(2U, "batch"), "2 batches");
  EXPECT_EQ(counted(2, "directory"), "2 directories");
  EXPECT_EQ(counted(2, "array"), "2 arrays");
  EXPECT_EQ(plural(1, "convolution pass"), "convolution pass");
}

TEST(Quantity, Durations) {
  EXPECT_EQ(duration_text(0.8412), "0.84 s");
  EXPECT_EQ(duration_text(0.00097), "0.97 ms");
  EXPECT_EQ(duration_text(9.96), "10 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(59.6), "1 min 00 s");
  EXPECT_EQ(duration_text(3'725), "1 h 02 min");
}

}  // namespace
}  // namespace dptrain
