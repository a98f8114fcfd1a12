#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

TEST(LogCoshLoss, IsTheMeanOverElements) {
  LossCase c{.loss = loss(nn::losses::LogCosh{}), .output = {kLossWidth}};
  c.rows = random_values(kLossRows * kLossWidth, -3, 3, 41);
  check_loss(c, random_values(kLossRows * kLossWidth, -3, 3, 42), c.rows,
             mean_of([](double p, double y) { return std::log(std::cosh(p - y)); }));
}

TEST(LogCoshLoss, LargeDifferencesStayFinite) {
  LossCase c{.loss = loss(nn::losses::LogCosh{}), .output = {2}};
  c.rows = {0, 0};
  for (const auto& device : devices({})) {
    const LossResult found = run_loss(*device, c, {-2000, 2000}, 1);
    EXPECT_NEAR(found.sums[0] - kStartSum, 2000 - std::log(2.0), 1e-3) << device->description();
    EXPECT_EQ(found.gradient, (std::vector<float>{-0.5F, 0.5F})) << device->description();
  }
}

}  // namespace
}  // namespace dptrain::test
