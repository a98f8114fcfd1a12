#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

RowLoss focal(double alpha, double gamma, double smoothing) {
  return [=](Row p, Row y) {
    const double sum = std::accumulate(p.begin(), p.end(), 0.0), n = static_cast<double>(p.size());
    double value = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double q = p[i] / sum, target = y[i] * (1 - smoothing) + smoothing / n;
      value -= alpha * std::pow(1 - q, gamma) * target * std::log(q);
    }
    return value;
  };
}

TEST(CategoricalFocalLoss, OfProbabilitiesWithRowsAndSmoothing) {
  LossCase c{.loss = loss(nn::CategoricalFocalCrossentropySpec{.alpha = 0.4, .gamma = 1.5, .label_smoothing = 0.1}),
             .output = {kLossWidth}};
  c.rows = one_hot(random_classes());
  check_loss(c, random_values(kLossRows * kLossWidth, 0.05, 1, 42), c.rows, focal(0.4, 1.5, 0.1));
}

TEST(CategoricalFocalLoss, OfLogitsAtPositionsWithClasses) {
  LossCase c{.loss = loss(nn::CategoricalFocalCrossentropySpec{}), .output = {3, kLossWidth}, .from_logits = true};
  c.fusion = Fusion::kSoftmax;
  c.classes = random_classes();
  c.classes.resize(36);
  check_loss(c, random_values(36 * kLossWidth, -3, 3, 43), one_hot(c.classes),
             mean_over_rows(of_softmax(focal(0.25, 2, 0)), kLossWidth));
}

TEST(CategoricalFocalLoss, WithoutFocusIsCrossentropy) {
  LossCase c{.loss = loss(nn::CategoricalFocalCrossentropySpec{.alpha = 1, .gamma = 0}),
             .output = {kLossWidth},
             .from_logits = true};
  c.classes = random_classes();
  check_loss(c, random_values(kLossRows * kLossWidth, -3, 3, 44), one_hot(c.classes),
             of_softmax([](Row p, Row y) { return cross_entropy(p, y, 0); }));
}

}  // namespace
}  // namespace dptrain::test
