#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

TEST(MeanSquaredLogarithmicErrorLoss, HasNoSlopeBelowZero) {
  LossCase c{.loss = loss(nn::losses::MeanSquaredLogarithmicError{}), .output = {kLossWidth}};
  c.rows = random_values(kLossRows * kLossWidth, 0, 3, 41);
  const auto logarithm = [](double x) { return std::log1p(std::max(x, 1e-7)); };
  check_loss(c, random_values(kLossRows * kLossWidth, -1, 3, 42), c.rows, mean_of([&](double p, double y) {
               return (logarithm(p) - logarithm(y)) * (logarithm(p) - logarithm(y));
             }));
}

}  // namespace
}  // namespace dptrain::test
