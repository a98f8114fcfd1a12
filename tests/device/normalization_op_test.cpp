#include "layers/normalization.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device/harness.h"

namespace dptrain::test {
namespace {

void check_normalization(const layers::NormalizationSpec& spec, const Shape& in) {
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
TEST(NormalizationOp, ChannelsOfTheirOwn) {
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

}  // namespace
}  // namespace dptrain::test
