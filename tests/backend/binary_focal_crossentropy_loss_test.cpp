#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

RowLoss binary_focal(double gamma, double alpha, double smoothing) {
  return mean_of([=](double p, double target) {
    const double y = target * (1 - smoothing) + smoothing / 2, right = y * p + (1 - y) * (1 - p);
    const double weight = alpha < 0 ? 1 : y * alpha + (1 - y) * (1 - alpha);
    return -weight * std::pow(1 - right, gamma) * (y * std::log(p) + (1 - y) * std::log1p(-p));
  });
}

TEST(BinaryFocalLoss, OfProbabilitiesBalancedAndSmoothed) {
  LossCase c{.loss = loss(nn::BinaryFocalCrossentropySpec{
                 .apply_class_balancing = true, .alpha = 0.3, .gamma = 1.5, .label_smoothing = 0.1}),
             .output = {kLossWidth}};
  c.rows = one_hot(random_classes());
  check_loss(c, random_values(kLossRows * kLossWidth, 0.05, 0.95, 42), c.rows, binary_focal(1.5, 0.3, 0.1));
}

TEST(BinaryFocalLoss, OfLogitsAtEveryPixel) {
  LossCase c{.loss = loss(nn::BinaryFocalCrossentropySpec{}), .output = {3, 4, 1}, .from_logits = true};
  c.fusion = Fusion::kSigmoid;
  c.rows = random_values(9 * 12, 0, 1, 43);
  for (double& y : c.rows) y = std::round(y);
  check_loss(c, random_values(9 * 12, -3, 3, 44), c.rows, of_sigmoid(binary_focal(2, -1, 0)));
}

TEST(BinaryFocalLoss, WithoutFocusIsCrossentropy) {
  LossCase c{.loss = loss(nn::BinaryFocalCrossentropySpec{.gamma = 0}), .output = {kLossWidth}, .from_logits = true};
  c.rows = one_hot(random_classes());
  check_loss(c, random_values(kLossRows * kLossWidth, -3, 3, 45), c.rows,
             of_sigmoid([](Row p, Row y) { return binary(p, y, 0); }));
}

}  // namespace
}  // namespace dptrain::test
