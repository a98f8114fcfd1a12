#include "evaluation/worst_samples.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace dptrain::evaluation {
namespace {

std::vector<std::int64_t> indices(const WorstSamples& worst) {
  std::vector<std::int64_t> all;
  for (const WorstSample& sample : worst.sorted()) all.push_back(sample.index);
  return all;
}

TEST(WorstSamples, KeepsTheLargestLossesInOrder) {
  WorstSamples worst(3);
  EXPECT_TRUE(worst.sorted().empty());
  for (const auto& [index, loss] : {std::pair{0, 0.5}, {1, 2.0}, {2, 0.1}, {3, 3.0}, {4, 1.0}, {5, 0.7}})
    worst.add({.index = index, .loss = loss});
  EXPECT_THAT(indices(worst), testing::ElementsAre(3, 1, 4));
}

TEST(WorstSamples, KeepsTheLowestIndexOfEqualLosses) {
  for (const bool backwards : {false, true}) {
    WorstSamples worst(2);
    for (std::int64_t i = 0; i < 5; ++i) worst.add({.index = backwards ? 4 - i : i, .loss = 1});
    EXPECT_THAT(indices(worst), testing::ElementsAre(0, 1)) << backwards;
  }
}

TEST(WorstSamples, LossOfAProbability) {
  EXPECT_DOUBLE_EQ(class_loss(1), 0);
  EXPECT_DOUBLE_EQ(class_loss(0.5F), std::log(2.0));
  EXPECT_NEAR(class_loss(0), 16.1, 0.1) << "finite";
  EXPECT_EQ(class_loss(std::numeric_limits<float>::quiet_NaN()), class_loss(0));
}

}  // namespace
}  // namespace dptrain::evaluation
