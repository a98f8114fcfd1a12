#include "nn/normalization.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

void check_normalization(const nn::NormalizationSpec& spec, const Shape& in) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {in};
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const std::size_t value = spec.mean.size() == 1 ? 0 : i % spec.mean.size();
      const double deviation = std::max(std::sqrt(spec.variance[value]), 1e-7);
      double& x = y.values[i];
      x = spec.invert ? x * deviation + spec.mean[value] : (x - spec.mean[value]) / deviation;
    }
    return y;
  });
}

TEST(NormalizationOp, OneValue) {
  check_normalization({.mean = {0.25}, .variance = {4}}, {3, 5, 7});
  check_normalization({.mean = {-1}, .variance = {0.5}, .invert = true}, {9});
}
TEST(NormalizationOp, PerChannel) {
  const std::vector<double> mean{0.5, -0.25, 1}, variance{0.25, 2, 1};
  check_normalization({.mean = mean, .variance = variance}, {11, 13, 3});
  check_normalization({.axis = 3, .mean = mean, .variance = variance, .invert = true}, {4, 5, 3});
  std::vector<double> wide_mean, wide_variance;
  for (int channel = 0; channel < 16; ++channel) {
    wide_mean.push_back(channel / 8.0 - 1);
    wide_variance.push_back(0.5 + channel / 16.0);
  }
  check_normalization({.mean = wide_mean, .variance = wide_variance}, {7, 16});
}

void check_weights(bool invert, const Shape& in) {
  nn::NormalizationSpec spec;
  spec.invert = invert;
  Case c;
  c.layer = layer(spec);
  c.inputs = {in};
  c.weights = [](std::vector<Tensor>& weights) {
    for (double& variance : weights[1].values) variance = variance * variance + 0.25;
    weights[1].values[0] = 0;  // Keras then divides by 1e-7
    weights[2].values[0] = 17;
  };
  c.values = [&](std::vector<Tensor>& inputs) {
    for (std::size_t i = 0; i < inputs[0].values.size(); ++i)
      if (i % static_cast<std::size_t>(in.back()) == 0) inputs[0].values[i] = 0;
  };
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) {
    Tensor y = inputs[0];
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const std::size_t channel = i % weights[0].values.size();
      const double mean = weights[0].values[channel];
      const double deviation = std::max(std::sqrt(weights[1].values[channel]), 1e-7);
      double& x = y.values[i];
      x = invert ? x * deviation + mean : (x - mean) / deviation;
    }
    return y;
  });
}

TEST(NormalizationOp, OfWeights) {
  check_weights(true, {5, 4, 3});
  check_weights(true, {2, 16});
}

TEST(NormalizationOp, KeepsWeights) {
  const auto& type = nn::type_of(layer(nn::NormalizationSpec{}));
  const nn::NormalizationSpec spec;
  const std::vector<Shape> in{{5, 3}};
  const std::vector<nn::WeightDef> weights = type.weights(&spec, in);
  ASSERT_EQ(weights.size(), 3U);
  EXPECT_EQ(weights[0].shape, Shape({3}));
  EXPECT_EQ(weights[2].shape.rank(), 0);
  for (const nn::WeightDef& weight : weights) EXPECT_TRUE(weight.constant && !weight.trainable) << weight.name;
}

}  // namespace
}  // namespace dptrain::test
