#include "kernels/cpu/activation.h"

#include <gtest/gtest.h>

#include <array>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::written_floats;

constexpr double kSeluScale = 1.0507009873554805, kSeluAlpha = 1.6732632423543772;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double inner(double x) { return std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x); }

double value(Activation kind, double alpha, double x) {
  switch (kind) {
    case Activation::linear: return x;
    case Activation::relu: return std::max(x, 0.0);
    case Activation::relu6: return std::min(std::max(x, 0.0), 6.0);
    case Activation::leaky_relu: return x > 0 ? x : alpha * x;
    case Activation::elu: return x > 0 ? x : alpha * std::expm1(x);
    case Activation::selu: return kSeluScale * (x > 0 ? x : kSeluAlpha * std::expm1(x));
    case Activation::gelu: return x * cdf(x);
    case Activation::gelu_tanh: return x * sigmoid(2.0 * inner(x));
    case Activation::swish: return x * sigmoid(x);
    case Activation::tanh: return std::tanh(x);
    case Activation::sigmoid: return sigmoid(x);
    case Activation::softplus: return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  }
  return NAN;
}

double slope(Activation kind, double alpha, double x) {
  switch (kind) {
    case Activation::linear: return 1.0;
    case Activation::relu: return x > 0 ? 1.0 : 0.0;
    case Activation::relu6: return x > 0 && x < 6 ? 1.0 : 0.0;
    case Activation::leaky_relu: return x > 0 ? 1.0 : alpha;
    case Activation::elu: return x > 0 ? 1.0 : alpha * std::exp(x);
    case Activation::selu: return kSeluScale * (x > 0 ? 1.0 : kSeluAlpha * std::exp(x));
    case Activation::gelu: return cdf(x) + x * std::exp(-0.5 * x * x) / std::sqrt(2.0 * M_PI);
    case Activation::gelu_tanh: {
      const double s = sigmoid(2.0 * inner(x));
      return s + x * s * (1.0 - s) * 2.0 * std::sqrt(2.0 / M_PI) * (1.0 + 3.0 * 0.044715 * x * x);
    }
    case Activation::swish: return sigmoid(x) + x * sigmoid(x) * (1.0 - sigmoid(x));
    case Activation::tanh: return 1.0 - std::tanh(x) * std::tanh(x);
    case Activation::sigmoid: return sigmoid(x) * (1.0 - sigmoid(x));
    case Activation::softplus: return sigmoid(x);
  }
  return NAN;
}

constexpr std::array kKinds = {Activation::linear, Activation::relu, Activation::relu6,   Activation::leaky_relu,
                               Activation::elu,    Activation::selu, Activation::gelu,    Activation::gelu_tanh,
                               Activation::swish,  Activation::tanh, Activation::sigmoid, Activation::softplus};

/// Kinks, signed zeros, saturation, and enough numbers between for two pieces and a rest.
std::vector<float> inputs() {
  std::vector<float> x = test::random_floats(kPieceElements + 1003, 7, -9.0F, 9.0F);
  const std::vector<float> special = {0.0F, -0.0F, 6.0F, 1e-6F, -1e-6F, 30.0F, -30.0F, 80.0F, -80.0F, 7e3F, -7e3F};
  x.insert(x.begin() + 3, special.begin(), special.end());
  return x;
}

class ActivationTest : public testing::TestWithParam<Activation> {
 protected:
  const float alpha_ = 0.3F;
  const std::vector<float> x_ = inputs();
  const std::vector<float> dy_ = test::random_floats(static_cast<int64_t>(x_.size()), 8);
  const int64_t n_ = static_cast<int64_t>(x_.size());

  std::vector<double> expected_slopes() const {
    std::vector<double> expected;
    for (size_t i = 0; i < x_.size(); ++i)
      expected.push_back(slope(GetParam(), static_cast<double>(alpha_), static_cast<double>(x_[i])) *
                         static_cast<double>(dy_[i]));
    return expected;
  }
};

// Relative error: a few units in the last place of float (6e-8) for Highway's exp and log1p, magnified where the
// argument is rounded before an exponential: |x| up to 9 costs another 9 x 6e-8. Absolute: what is below is a zero that
// came out of a subtraction.
constexpr double kRelative = 2e-6, kAbsolute = 1e-7;

TEST_P(ActivationTest, Forward) {
  std::vector<double> expected;
  for (const float x : x_) expected.push_back(value(GetParam(), static_cast<double>(alpha_), static_cast<double>(x)));
  agrees(expected, kRelative, kAbsolute, [&] {
    return written_floats(n_, [&](float* y) { activation_forward(GetParam(), alpha_, x_.data(), y, n_); });
  });
}

TEST_P(ActivationTest, BackwardFromInput) {
  agrees(expected_slopes(), kRelative, 5e-7, [&] {
    return written_floats(
        n_, [&](float* dx) { activation_backward_from_input(GetParam(), alpha_, x_.data(), dy_.data(), dx, n_); });
  });
}

class ActivationOutputTest : public ActivationTest {};

TEST_P(ActivationOutputTest, Backward) {
  ASSERT_TRUE(has_gradient_from_output(GetParam()));
  agrees(expected_slopes(), kRelative, 1e-6, [&] {
    std::vector<float> y(x_.size());
    activation_forward(GetParam(), alpha_, x_.data(), y.data(), n_);
    return written_floats(
        n_, [&](float* dx) { activation_backward_from_output(GetParam(), alpha_, y.data(), dy_.data(), dx, n_); });
  });
}

TEST_P(ActivationTest, InPlaceGivesTheSameBits) {
  test::on_every_target([&] {
    std::vector<float> y(x_.size()), dx(x_.size()), in_place = x_;
    activation_forward(GetParam(), alpha_, x_.data(), y.data(), n_);
    activation_forward(GetParam(), alpha_, in_place.data(), in_place.data(), n_);
    EXPECT_EQ(std::memcmp(y.data(), in_place.data(), y.size() * sizeof(float)), 0);
    in_place = dy_;
    activation_backward_from_input(GetParam(), alpha_, x_.data(), dy_.data(), dx.data(), n_);
    activation_backward_from_input(GetParam(), alpha_, x_.data(), in_place.data(), in_place.data(), n_);
    EXPECT_EQ(std::memcmp(dx.data(), in_place.data(), dx.size() * sizeof(float)), 0);
  });
}

TEST_P(ActivationTest, KeepsNan) {
  const std::vector<float> x(37, NAN), dy(37, 1.0F);
  test::on_every_target([&] {
    std::vector<float> y(37, 0.0F);
    activation_forward(GetParam(), alpha_, x.data(), y.data(), 37);
    for (const float element : y) EXPECT_TRUE(std::isnan(element));
  });
}

INSTANTIATE_TEST_SUITE_P(AllKinds, ActivationTest, testing::ValuesIn(kKinds));
INSTANTIATE_TEST_SUITE_P(KindsThatTheOutputTells, ActivationOutputTest,
                         testing::Values(Activation::linear, Activation::relu, Activation::relu6,
                                         Activation::leaky_relu, Activation::elu, Activation::selu, Activation::tanh,
                                         Activation::sigmoid, Activation::softplus));

TEST(ReluLayer, ThresholdSlopeAndMaximum) {
  const std::vector<float> x = inputs(), dy = test::random_floats(static_cast<int64_t>(x.size()), 9);
  const int64_t n = static_cast<int64_t>(x.size());
  const float infinity = std::numeric_limits<float>::infinity();
  for (const ReluLayer layer :
       {ReluLayer{infinity, 0.0F, 0.0F}, ReluLayer{6.0F, 0.1F, 1.0F}, ReluLayer{4.0F, 0.0F, -1.0F}}) {
    std::vector<double> y, dx;
    for (size_t i = 0; i < x.size(); ++i) {
      const double slope = static_cast<double>(layer.negative_slope), g = static_cast<double>(dy[i]);
      const double below = slope * (static_cast<double>(x[i]) - static_cast<double>(layer.threshold));
      y.push_back(x[i] >= layer.max_value  ? static_cast<double>(layer.max_value)
                  : x[i] > layer.threshold ? static_cast<double>(x[i])
                                           : below);
      dx.push_back(x[i] >= layer.max_value ? 0.0 : x[i] > layer.threshold ? g : slope * g);
    }
    agrees(y, 1e-6, 0.0,
           [&] { return written_floats(n, [&](float* out) { relu_layer_forward(layer, x.data(), out, n); }); });
    agrees(dx, 1e-6, 0.0, [&] {
      return written_floats(n, [&](float* out) { relu_layer_backward(layer, x.data(), dy.data(), out, n); });
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
