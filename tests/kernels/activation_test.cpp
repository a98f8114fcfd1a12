#include "kernels/cpu/activation.h"

#include <gtest/gtest.h>

#include "kernels/support.h"
#include "support/activations.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::written_floats;

std::vector<Activation> kinds(bool from_output_only) {
  std::vector<Activation> kinds;
  for (const ActivationTraits& row : kActivations)
    if (!row.over_rows && !(from_output_only && row.gradient != GradientFrom::kOutput)) kinds.push_back(row.kind);
  return kinds;
}

/// Kinks, signed zeros, saturation, and enough values between for two pieces and a remainder.
std::vector<float> inputs() {
  std::vector<float> x = test::random_floats(kPieceElements + 1003, 7, -9.0F, 9.0F);
  const std::vector<float> special = {0.0F,  -0.0F,  6.0F,  3.0F,   -3.0F, 1e-6F, -1e-6F,
                                      30.0F, -30.0F, 80.0F, -80.0F, 7e3F,  -7e3F};
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
      expected.push_back(
          dptrain::test::activation_slope(GetParam(), static_cast<double>(alpha_), static_cast<double>(x_[i])) *
          static_cast<double>(dy_[i]));
    return expected;
  }
};

// Relative error: a few units in the last place of float (6e-8) from Highway's exp and log1p, plus |x| <= 9 times 6e-8
// if the argument of an exponential is rounded. Absolute: zeros that are results of a subtraction.
constexpr double kRelative = 2e-6, kAbsolute = 1e-7;

TEST_P(ActivationTest, Forward) {
  std::vector<double> expected;
  for (const float x : x_)
    expected.push_back(
        dptrain::test::activation_value(GetParam(), static_cast<double>(alpha_), static_cast<double>(x)));
  agrees(expected, kRelative, kAbsolute, [&] {
    return written_floats(n_,
                          [&](float* y) { activation_forward({}, DType::kF32, GetParam(), alpha_, x_.data(), y, n_); });
  });
}

TEST_P(ActivationTest, BackwardFromInput) {
  agrees(expected_slopes(), kRelative, 5e-7, [&] {
    return written_floats(n_, [&](float* dx) {
      activation_backward_from_input({}, DType::kF32, GetParam(), alpha_, x_.data(), dy_.data(), dx, n_);
    });
  });
}

class ActivationOutputTest : public ActivationTest {};

TEST_P(ActivationOutputTest, Backward) {
  agrees(expected_slopes(), kRelative, 1e-6, [&] {
    std::vector<float> y(x_.size());
    activation_forward({}, DType::kF32, GetParam(), alpha_, x_.data(), y.data(), n_);
    return written_floats(n_, [&](float* dx) {
      activation_backward_from_output({}, DType::kF32, GetParam(), alpha_, y.data(), dy_.data(), dx, n_);
    });
  });
}

TEST_P(ActivationTest, InPlaceGivesTheSameBits) {
  test::on_every_target([&] {
    std::vector<float> y(x_.size()), dx(x_.size()), in_place = x_;
    activation_forward({}, DType::kF32, GetParam(), alpha_, x_.data(), y.data(), n_);
    activation_forward({}, DType::kF32, GetParam(), alpha_, in_place.data(), in_place.data(), n_);
    EXPECT_EQ(std::memcmp(y.data(), in_place.data(), y.size() * sizeof(float)), 0);
    in_place = dy_;
    activation_backward_from_input({}, DType::kF32, GetParam(), alpha_, x_.data(), dy_.data(), dx.data(), n_);
    activation_backward_from_input({}, DType::kF32, GetParam(), alpha_, x_.data(), in_place.data(), in_place.data(),
                                   n_);
    EXPECT_EQ(std::memcmp(dx.data(), in_place.data(), dx.size() * sizeof(float)), 0);
  });
}

TEST_P(ActivationTest, KeepsNan) {
  const std::vector<float> x(37, NAN), dy(37, 1.0F);
  test::on_every_target([&] {
    std::vector<float> y(37, 0.0F);
    activation_forward({}, DType::kF32, GetParam(), alpha_, x.data(), y.data(), 37);
    for (const float element : y) EXPECT_TRUE(std::isnan(element));
  });
}

INSTANTIATE_TEST_SUITE_P(AllKinds, ActivationTest, testing::ValuesIn(kinds(false)));
INSTANTIATE_TEST_SUITE_P(KindsThatTheOutputTells, ActivationOutputTest, testing::ValuesIn(kinds(true)));

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
    agrees(y, 1e-6, 0.0, [&] {
      return written_floats(n, [&](float* out) { relu_layer_forward({}, DType::kF32, layer, x.data(), out, n); });
    });
    agrees(dx, 1e-6, 0.0, [&] {
      return written_floats(
          n, [&](float* out) { relu_layer_backward({}, DType::kF32, layer, x.data(), dy.data(), out, n); });
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
