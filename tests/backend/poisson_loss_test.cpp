#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

TEST(PoissonLoss, IsTheMeanOverElements) {
  LossCase c{.loss = loss(nn::losses::Poisson{}), .output = {kLossWidth}};
  c.rows = random_values(kLossRows * kLossWidth, 0, 3, 41);
  check_loss(c, random_values(kLossRows * kLossWidth, 0.1, 3, 42), c.rows,
             mean_of([](double p, double y) { return p - y * std::log(p + 1e-7); }));
}

}  // namespace
}  // namespace dptrain::test
