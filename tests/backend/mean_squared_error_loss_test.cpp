#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"
#include "nn/metrics.h"

namespace dptrain::test {
namespace {

TEST(MeanSquaredErrorLoss, IsTheMeanOverElements) {
  LossCase c{.loss = loss(nn::losses::MeanSquaredError{}), .output = {kLossWidth}};
  c.rows = random_values(kLossRows * kLossWidth, -1, 1, 7);
  check_loss(c, random_values(kLossRows * kLossWidth, -1, 1, 8), c.rows, squared);
}

TEST(MeanSquaredErrorLoss, ClassesCanBeRows) {
  LossCase c{.loss = loss(nn::losses::MeanSquaredError{}), .output = {kLossWidth}};
  c.classes = random_classes();
  c.metrics = {metric(nn::CategoricalAccuracySpec{})};
  check_loss(c, random_values(kLossRows * kLossWidth, -1, 1, 9), one_hot(c.classes), squared, {hit});
}

}  // namespace
}  // namespace dptrain::test
