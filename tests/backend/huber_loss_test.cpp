#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

TEST(HuberLoss, IsSquaredNearAndAbsoluteFar) {
  LossCase c{.loss = loss(nn::losses::Huber{.delta = 0.6}), .output = {kLossWidth}};
  c.rows = random_values(kLossRows * kLossWidth, -1, 1, 41);
  check_loss(c, random_values(kLossRows * kLossWidth, -1, 1, 42), c.rows, mean_of([](double p, double y) {
               const double a = std::abs(p - y);
               return a <= 0.6 ? a * a / 2 : 0.6 * (a - 0.3);
             }));
}

}  // namespace
}  // namespace dptrain::test
