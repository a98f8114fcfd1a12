#include <gtest/gtest.h>

#include <cmath>

#include "experiment/experiment.h"

namespace dptrain::experiment {
namespace {

TEST(RateFactor, FollowsTheBatch) {
  TrainSection train;
  EXPECT_EQ(rate_factor(train, 512), 1);  // no factor
  train.lr_scaling = LrScaling::kLinear;
  train.reference_batch_size = 128;
  EXPECT_EQ(rate_factor(train, 512), 4);
  EXPECT_EQ(rate_factor(train, 32), 0.25);
  train.lr_scaling = LrScaling::kSqrt;
  EXPECT_DOUBLE_EQ(rate_factor(train, 512), 2);
  EXPECT_DOUBLE_EQ(rate_factor(train, 256), std::sqrt(2.0));
}

}  // namespace
}  // namespace dptrain::experiment
