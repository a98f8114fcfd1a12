#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

TEST(MeanAbsoluteErrorLoss, IsTheMeanOverElements) {
  LossCase c{.loss = loss(nn::losses::MeanAbsoluteError{}), .output = {kLossWidth}};
  c.rows = random_values(kLossRows * kLossWidth, -1, 1, 7);
  check_loss(c, random_values(kLossRows * kLossWidth, -1, 1, 8), c.rows, absolute);
}

}  // namespace
}  // namespace dptrain::test
