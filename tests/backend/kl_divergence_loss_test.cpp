#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

double divergence(Row p, Row y) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double target = std::clamp(y[i], 1e-7, 1.0), q = std::clamp(p[i], 1e-7, 1.0);
    sum += target * std::log(target / q);
  }
  return sum;
}

TEST(KLDivergenceLoss, IsSummedOverTheLastAxis) {
  LossCase c{.loss = loss(nn::losses::KLDivergence{}), .output = {kLossWidth}};
  c.rows = random_values(kLossRows * kLossWidth, 0.2, 1, 41);
  c.rows[3] = 0;
  std::vector<double> p = random_values(kLossRows * kLossWidth, 0.05, 0.2, 42);
  p[0] = 1.5, p[kLossWidth] = -0.5;  // clipped: no gradient
  check_loss(c, p, c.rows, divergence);
}

TEST(KLDivergenceLoss, AveragesPositions) {
  LossCase c{.loss = loss(nn::losses::KLDivergence{}), .output = {3, kLossWidth}};
  c.rows = random_values(12 * 3 * kLossWidth, 0.2, 1, 43);
  check_loss(c, random_values(12 * 3 * kLossWidth, 0.05, 0.2, 44), c.rows, mean_over_rows(divergence, kLossWidth));
}

}  // namespace
}  // namespace dptrain::test
