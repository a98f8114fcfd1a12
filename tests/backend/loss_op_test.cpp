// Common to all losses: weights of classes and of samples.

#include <gtest/gtest.h>

#include <array>

#include "backend/loss_checks.h"
#include "nn/losses.h"
#include "nn/metrics.h"

namespace dptrain::test {
namespace {

constexpr std::array kClassWeights{2.5F, 0.0F, 1.0F, 0.25F, 3.0F};

/// A row's loss times the weight of its class: the largest target, or the only one.
RowLoss by_class(const RowLoss& f, const std::vector<float>& weights) {
  return [f, weights](Row z, Row y) {
    const auto label = y.size() == 1 ? std::lrint(y[0]) : std::ranges::max_element(y) - y.begin();
    return static_cast<double>(weights[static_cast<std::size_t>(label)]) * f(z, y);
  };
}

TEST(LossOp, ClassWeightsMultiplyLossAndGradientOnly) {
  LossCase c{.loss = loss(nn::SparseCategoricalCrossentropySpec{}), .output = {kLossWidth}, .from_logits = true};
  c.fusion = Fusion::kSoftmax;
  c.classes = random_classes();
  c.class_weights.assign(kClassWeights.begin(), kClassWeights.end());
  c.metrics = {metric(nn::AccuracySpec{}), metric(nn::MeanSquaredErrorMetricSpec{})};
  const RowLoss f = of_softmax([](Row p, Row y) { return cross_entropy(p, y, 0); });
  const std::vector<double> z = random_values(kLossRows * kLossWidth, -4, 4, 21);
  check_loss(c, z, one_hot(c.classes), by_class(f, c.class_weights), {hit, of_softmax(squared)});

  c.weighted = false;  // validation
  check_loss(c, z, one_hot(c.classes), f, {hit, of_softmax(squared)});
}

TEST(LossOp, ClassWeightsOfRowsUseTheLargestTarget) {
  LossCase c{.loss = loss(nn::CategoricalCrossentropySpec{.label_smoothing = 0.2}), .output = {kLossWidth}};
  c.class_weights.assign(kClassWeights.begin(), kClassWeights.end());
  c.rows = one_hot(random_classes());
  const RowLoss f = [](Row p, Row y) { return cross_entropy(p, y, 0.2); };
  check_loss(c, random_values(kLossRows * kLossWidth, 0.05, 0.95, 22), c.rows, by_class(f, c.class_weights));
}

TEST(LossOp, ClassWeightsOfOneOutputUseZeroAndOne) {
  LossCase c{.loss = loss(nn::BinaryCrossentropySpec{}), .output = {1}, .from_logits = true};
  c.fusion = Fusion::kSigmoid;
  c.class_weights = {0.25F, 3.0F};
  for (const std::int32_t label : random_classes()) c.rows.push_back(label % 2);
  c.metrics = {metric(nn::MeanAbsoluteErrorMetricSpec{})};
  const RowLoss f = of_sigmoid([](Row p, Row y) { return binary(p, y, 0); });
  check_loss(c, random_values(kLossRows, -3, 3, 23), c.rows, by_class(f, c.class_weights), {of_sigmoid(absolute)});
}

/// Factors of all rows in the order of the calls of f.
std::vector<double> weights_of(std::int64_t rows) {
  std::vector<double> weights;
  for (std::int64_t i = 0; i < rows; ++i) weights.push_back(0.25 * static_cast<double>(i % 5));
  return weights;
}

TEST(LossOp, SampleWeightsMultiplyLossAndGradientOnly) {
  LossCase c{.loss = loss(nn::losses::MeanSquaredError{}), .output = {kLossWidth}};
  c.rows = random_values(kLossRows * kLossWidth, -1, 1, 31);
  c.metrics = {metric(nn::MeanAbsoluteErrorMetricSpec{})};
  const std::vector<double> z = random_values(kLossRows * kLossWidth, -1, 1, 32), weights = weights_of(kLossRows);
  LossCase weighted = c;
  weighted.sample_weights = weights;
  weighted.weighted = false;  // also used in evaluation
  for (const auto& device : devices({})) {
    SCOPED_TRACE(device->description());
    const LossResult plain = run_loss(*device, c, z, kLossScale), found = run_loss(*device, weighted, z, kLossScale);
    double sum = 0;
    for (std::size_t row = 0; row < weights.size(); ++row) {
      const Row p(z.data() + row * kLossWidth, kLossWidth), y(c.rows.data() + row * kLossWidth, kLossWidth);
      sum += weights[row] * squared(p, y);
      for (std::size_t i = row * kLossWidth; i < (row + 1) * kLossWidth; ++i)
        EXPECT_FLOAT_EQ(found.gradient[i], plain.gradient[i] * static_cast<float>(weights[row])) << i;
    }
    EXPECT_NEAR(found.sums[0] - kStartSum, sum, 1e-5 * sum);
    EXPECT_EQ(found.sums[1], plain.sums[1]);
  }
}

}  // namespace
}  // namespace dptrain::test
