#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

TEST(MeanAbsolutePercentageErrorLoss, IsRelativeToTheLabel) {
  LossCase c{.loss = loss(nn::losses::MeanAbsolutePercentageError{}), .output = {kLossWidth}};
  c.rows = random_values(kLossRows * kLossWidth, 0.5, 2, 41);
  c.rows[1] = -1;
  check_loss(c, random_values(kLossRows * kLossWidth, -1, 3, 42), c.rows,
             mean_of([](double p, double y) { return 100 * std::abs((y - p) / y); }));
}

}  // namespace
}  // namespace dptrain::test
