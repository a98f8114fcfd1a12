#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

TEST(SquaredHingeLoss, MapsLabelsZeroAndOneToMinusAndPlusOne) {
  LossCase c{.loss = loss(nn::losses::SquaredHinge{}), .output = {kLossWidth}};
  c.rows = one_hot(random_classes());
  const std::vector<double> p = random_values(kLossRows * kLossWidth, -2, 2, 42);
  const RowLoss f = mean_of([](double x, double y) {
    const double margin = std::max(0.0, 1 - (y == 0 ? -1 : y) * x);
    return margin * margin;
  });
  check_loss(c, p, c.rows, f);
  for (double& y : c.rows) y = 2 * y - 1;
  check_loss(c, p, c.rows, f);
}

}  // namespace
}  // namespace dptrain::test
