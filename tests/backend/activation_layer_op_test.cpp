#include "nn/activations.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

using nn::Activation;

Tensor softmax(const Tensor& x, std::int64_t classes) {
  Tensor y = x;
  for (std::size_t at = 0; at < x.values.size(); at += static_cast<std::size_t>(classes)) {
    double sum = 0;
    for (std::size_t i = at; i < at + static_cast<std::size_t>(classes); ++i) sum += std::exp(x.values[i]);
    for (std::size_t i = at; i < at + static_cast<std::size_t>(classes); ++i) y.values[i] = std::exp(x.values[i]) / sum;
  }
  return y;
}

class ActivationOp : public testing::TestWithParam<std::pair<Activation, const char*>> {};

TEST_P(ActivationOp, MatchesTheReference) {
  const Activation f = GetParam().first;
  Case c;
  c.layer = layer(nn::ActivationSpec{.activation = f});
  c.inputs = {{5, 3, 7}};
  c.low = -7.9;  // not symmetric: no value at a kink
  c.high = 8;
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = kernels::traits_of(f).over_rows ? softmax(inputs[0], 7) : inputs[0];
    for (double& value : y.values) value = f == Activation::kLogSoftmax ? std::log(value) : activation(f, value);
    return y;
  });
}

INSTANTIATE_TEST_SUITE_P(All, ActivationOp, testing::ValuesIn(config::EnumNames<Activation>::names),
                         [](const auto& one) { return std::string(one.param.second); });

}  // namespace
}  // namespace dptrain::test
