#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

TEST(CategoricalHingeLoss, ComparesTheLabelWithTheLargestOtherClass) {
  LossCase c{.loss = loss(nn::CategoricalHingeSpec{}), .output = {3, kLossWidth}};
  c.rows = one_hot(random_classes());
  c.rows.resize(36 * kLossWidth);  // 12 samples of 3 positions
  const RowLoss f = [](Row p, Row y) {
    double right = 0, wrong = -1e9;
    for (std::size_t i = 0; i < p.size(); ++i) right += y[i] * p[i], wrong = std::max(wrong, (1 - y[i]) * p[i]);
    return std::max(0.0, wrong - right + 1);
  };
  check_loss(c, random_values(36 * kLossWidth, -2, 2, 42), c.rows, mean_over_rows(f, kLossWidth));
}

TEST(CategoricalHingeLoss, TiesShareTheGradient) {
  LossCase c{.loss = loss(nn::CategoricalHingeSpec{}), .output = {3}};
  c.rows = {1, 0, 0};
  for (const auto& device : devices({}))
    EXPECT_EQ(run_loss(*device, c, {0.5, 2, 2}, 1).gradient, (std::vector<float>{-1, 0.5F, 0.5F}))
        << device->description();
}

}  // namespace
}  // namespace dptrain::test
