#include "kernels/cuda/activation.h"

#include "kernels_cuda/support.h"
#include "support/activations.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

struct Case {
  const char* name;
  Activation kind;
  float alpha;

  double value(double x) const { return dptrain::test::activation_value(kind, static_cast<double>(alpha), x); }
  double slope(double x) const { return dptrain::test::activation_slope(kind, static_cast<double>(alpha), x); }
  double slope_at_output(double y) const {
    return dptrain::test::activation_slope_at_output(kind, static_cast<double>(alpha), y);
  }
};

/// All elementwise activations, with an alpha other than Keras's.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const ActivationTraits& row : kActivations)
    if (!row.over_rows) all.push_back({row.name, row.kind, 0.75F * row.alpha});
  return all;
}

/// x clamped to the range of the type.
double in_range(DType type, double x) {
  const double largest = type == DType::kF16 ? 65504.0 : static_cast<double>(std::numeric_limits<float>::max());
  return std::abs(x) <= largest ? x : std::copysign(std::numeric_limits<double>::infinity(), x);
}

/// Values with a distance of 1e-3 from kinks, some large ones.
std::vector<float> inputs(std::int64_t n) {
  std::vector<float> x = random_floats(n, 11, -8.0F, 8.0F);
  for (float& value : x)
    for (const float kink : {-3.0F, 0.0F, 3.0F, 6.0F})
      if (std::abs(value - kink) < 0.05F) value += 0.125F;
  if (n > 8) x[1] = 40.0F, x[2] = -40.0F, x[3] = 100.0F, x[4] = -100.0F;
  return x;
}

TEST(GpuActivation, ForwardEqualsTheFormula) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    on_every_type([&](DType type, int offset) {
      for (const std::int64_t n : {3, 45, 5003}) {
        Tensor x(type, inputs(n), offset), y(type, n, offset);
        std::vector<double> expected;
        for (const float value : x.read()) expected.push_back(in_range(type, c.value(static_cast<double>(value))));
        activation_forward(test_launch(), type, c.kind, c.alpha, x.data(), y.data(), n);
        expect_near(type, expected, y.read(), 5e-6, 1e-30);
        activation_forward(test_launch(), type, c.kind, c.alpha, x.data(), x.data(), n);
        EXPECT_EQ(x.read(), y.read());
      }
    });
  }
}

TEST(GpuActivation, BackwardIsTheDerivative) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    on_every_type([&](DType type, int offset) {
      for (const std::int64_t n : {3, 45, 1003}) {
        const Tensor x(type, inputs(n), offset);
        Tensor dy(type, random_floats(n, 12), offset), dx(type, n, offset);
        const std::vector<float> at_x = x.read(), g = dy.read();
        std::vector<double> expected;
        for (std::int64_t i = 0; i < n; ++i) expected.push_back(in_range(type, at(g, i) * c.slope(at(at_x, i))));
        activation_backward_from_input(test_launch(), type, c.kind, c.alpha, x.data(), dy.data(), dx.data(), n);
        expect_near(type, expected, dx.read(), 1e-5, 1e-6);  // central differences are less accurate
        activation_backward_from_input(test_launch(), type, c.kind, c.alpha, x.data(), dy.data(), dy.data(), n);
        EXPECT_EQ(dy.read(), dx.read());
      }
    });
  }
}

TEST(GpuActivation, BackwardFromOutput) {
  for (const Case& c : cases()) {
    if (!has_gradient_from_output(c.kind)) continue;
    SCOPED_TRACE(c.name);
    on_every_type([&](DType type, int offset) {
      for (const std::int64_t n : {3, 45, 1003}) {
        const Tensor x(type, inputs(n), offset);
        Tensor y(type, n, offset), dy(type, random_floats(n, 13), offset), dx(type, n, offset);
        activation_forward(test_launch(), type, c.kind, c.alpha, x.data(), y.data(), n);
        const std::vector<float> at_y = y.read(), g = dy.read();
        std::vector<double> expected;
        for (std::int64_t i = 0; i < n; ++i)
          expected.push_back(in_range(type, at(g, i) * c.slope_at_output(at(at_y, i))));
        activation_backward_from_output(test_launch(), type, c.kind, c.alpha, y.data(), dy.data(), dx.data(), n);
        expect_near(type, expected, dx.read(), 1e-6, 3e-7);  // 1 - y loses digits near 1
        activation_backward_from_output(test_launch(), type, c.kind, c.alpha, y.data(), dy.data(), dy.data(), n);
        EXPECT_EQ(dy.read(), dx.read());
      }
    });
  }
}

TEST(GpuActivation, RejectsGradientsFromAnAmbiguousOutput) {
  Array<float> x(4);
  for (const Activation kind : {Activation::kGelu, Activation::kHardSilu})
    EXPECT_THROW(activation_backward_from_output(test_launch(), DType::kF32, kind, 0, x.data(), x.data(), x.data(), 4),
                 std::invalid_argument);
}

TEST(GpuActivation, PropagatesNaN) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    on_every_type([&](DType type, int offset) {
      Tensor x(type, std::vector<float>(9, std::numeric_limits<float>::quiet_NaN()), offset), y(type, 9, offset);
      activation_forward(test_launch(), type, c.kind, c.alpha, x.data(), y.data(), 9);
      for (const float value : y.read()) EXPECT_TRUE(std::isnan(value));
    });
  }
}

TEST(GpuActivation, UsesTheLeftDerivativeAtKinks) {
  const std::vector<float> x{0.0F, 6.0F}, ones{1.0F, 1.0F};
  for (const auto& [kind, at_zero, at_six] : {std::tuple{Activation::kRelu, 0.0F, 1.0F},
                                              {Activation::kRelu6, 0.0F, 0.0F},
                                              {Activation::kLeakyRelu, 0.5F, 1.0F},
                                              {Activation::kHardSigmoid, 1.0F / 6, 0.0F}}) {
    Array<float> in(x), dy(ones), dx(2);
    activation_backward_from_input(test_launch(), DType::kF32, kind, 0.5F, in.data(), dy.data(), dx.data(), 2);
    EXPECT_EQ(dx.read(), (std::vector<float>{at_zero, at_six}));
  }
}

TEST(GpuReluLayer, FollowsKeras) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const ReluLayer& layer : {ReluLayer{infinity, 0.0F, 0.0F}, ReluLayer{6.0F, 0.1F, 0.0F},
                                 ReluLayer{1.5F, 0.25F, 0.5F}, ReluLayer{infinity, 0.5F, -1.0F}}) {
    on_every_type([&](DType type, int offset) {
      const std::int64_t n = 1003;
      const Tensor x(type, random_floats(n, 14, -4.0F, 8.0F), offset), dy(type, random_floats(n, 15), offset);
      Tensor y(type, n, offset), dx(type, n, offset);
      std::vector<double> value, gradient;
      const std::vector<float> at_x = x.read(), g = dy.read();
      for (std::int64_t i = 0; i < n; ++i) {
        const float v = at_x[static_cast<std::size_t>(i)];
        const double below =
            static_cast<double>(layer.negative_slope) * (at(at_x, i) - static_cast<double>(layer.threshold));
        const bool top = v >= layer.max_value, inside = v > layer.threshold;
        value.push_back(top ? static_cast<double>(layer.max_value) : inside ? at(at_x, i) : below);
        gradient.push_back(top ? 0.0 : at(g, i) * (inside ? 1.0 : static_cast<double>(layer.negative_slope)));
      }
      relu_layer_forward(test_launch(), type, layer, x.data(), y.data(), n);
      expect_near(type, value, y.read(), 1e-6, 1e-7);
      relu_layer_backward(test_launch(), type, layer, x.data(), dy.data(), dx.data(), n);
      expect_near(type, gradient, dx.read());
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
