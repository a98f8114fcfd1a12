#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

double opposite_of_cosine(Row p, Row y) {
  double dot = 0, pp = 0, yy = 0;
  for (std::size_t i = 0; i < p.size(); ++i) dot += p[i] * y[i], pp += p[i] * p[i], yy += y[i] * y[i];
  return -dot / std::sqrt(pp * yy);
}

TEST(CosineSimilarityLoss, IsTheNegativeCosine) {
  LossCase c{.loss = loss(nn::CosineSimilaritySpec{}), .output = {kLossWidth}};
  c.rows = random_values(kLossRows * kLossWidth, -0.2, 1, 41);
  check_loss(c, random_values(kLossRows * kLossWidth, -0.2, 1, 42), c.rows, opposite_of_cosine);
}

TEST(CosineSimilarityLoss, AveragesPositions) {
  LossCase c{.loss = loss(nn::CosineSimilaritySpec{}), .output = {3, kLossWidth}};
  c.rows = random_values(12 * 3 * kLossWidth, -0.2, 1, 43);
  check_loss(c, random_values(12 * 3 * kLossWidth, -0.2, 1, 44), c.rows,
             mean_over_rows(opposite_of_cosine, kLossWidth));
}

TEST(CosineSimilarityLoss, ZeroVectorsHaveNoGradient) {
  LossCase c{.loss = loss(nn::CosineSimilaritySpec{}), .output = {2}};
  c.rows = {0, 1};
  for (const auto& device : devices({})) {
    const LossResult found = run_loss(*device, c, {0, 0}, 1);
    EXPECT_EQ(found.sums[0], kStartSum) << device->description();
    EXPECT_EQ(found.gradient[0], 0) << device->description();
    EXPECT_NEAR(found.gradient[1], -1e7, 1) << device->description();
  }
}

}  // namespace
}  // namespace dptrain::test
