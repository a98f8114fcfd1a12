#include "core/rate.h"

#include <gtest/gtest.h>

namespace dptrain {
namespace {

TEST(Rate, HasThreeDigitsOfASlowNetworkToo) {
  EXPECT_EQ(rate_text(12345.6), "12346");
  EXPECT_EQ(rate_text(100), "100");
  EXPECT_EQ(rate_text(99.96), "100");
  EXPECT_EQ(rate_text(23.45), "23.4");
  EXPECT_EQ(rate_text(9.996), "10.0");
  EXPECT_EQ(rate_text(1.234), "1.23");
  EXPECT_EQ(rate_text(0), "0.00");
}

}  // namespace
}  // namespace dptrain
