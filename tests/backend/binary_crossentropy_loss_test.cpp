#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"
#include "nn/metrics.h"

namespace dptrain::test {
namespace {

TEST(BinaryCrossentropyLoss, FusedWithSigmoid) {
  LossCase c{.loss = loss(nn::BinaryCrossentropySpec{.label_smoothing = 0.1}), .output = {1}, .from_logits = true};
  c.fusion = Fusion::kSigmoid;
  c.classes = random_classes();
  for (auto& label : c.classes) label = label % 2;
  c.metrics = {metric(nn::BinaryAccuracySpec{.threshold = 0.4}), metric(nn::MeanSquaredErrorMetricSpec{})};
  check_loss(c, random_values(kLossRows, -3, 3, 5), {c.classes.begin(), c.classes.end()},
             of_sigmoid([](Row p, Row y) { return binary(p, y, 0.1); }), {of_sigmoid(same_side), of_sigmoid(squared)});
}

TEST(BinaryCrossentropyLoss, FromProbabilities) {
  LossCase c{.loss = loss(nn::BinaryCrossentropySpec{}), .output = {kLossWidth}};
  c.rows = one_hot(random_classes());
  c.metrics = {metric(nn::BinaryAccuracySpec{.threshold = 0.4})};
  check_loss(c, random_values(kLossRows * kLossWidth, 0.05, 0.95, 6), c.rows,
             [](Row p, Row y) { return binary(p, y, 0); }, {same_side});
}

}  // namespace
}  // namespace dptrain::test
