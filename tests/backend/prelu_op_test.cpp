#include "nn/activations.h"

#include <gtest/gtest.h>

#include "backend/harness.h"
#include "backend/one_op.h"

namespace dptrain::test {
namespace {

/// Alpha's element for every element of a sample, by index arithmetic.
std::size_t alpha_at(const Shape& in, const Shape& alpha, std::int64_t element) {
  std::int64_t at = 0, stride = 1;
  for (int d = in.rank() - 1; d >= 0; --d) {
    at += (alpha[d] == 1 ? 0 : element % in[d]) * stride;
    stride *= alpha[d];
    element /= in[d];
  }
  return static_cast<std::size_t>(at);
}

Case with(const Shape& in, const Shape& shared_axes) {
  Case c;
  nn::PReLUSpec spec;
  spec.shared_axes = shared_axes;
  c.layer = layer(spec);
  c.inputs = {in};
  return c;
}

void check_prelu(const Shape& in, const Shape& shared_axes, std::int64_t rows = 3) {
  SCOPED_TRACE("shared axes " + shared_axes.str());
  Case c = with(in, shared_axes);
  c.rows = rows;
  const Shape alpha = nn::type_of(c.layer).weights(c.layer.spec(), c.inputs)[0].shape;
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) {
    Tensor y = inputs[0];
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const auto element = static_cast<std::int64_t>(i) % in.elements();
      double& x = y.values[i];
      if (x < 0) x *= weights[0].values[alpha_at(in, alpha, element)];
    }
    return y;
  });
}

TEST(PReLUOp, OneAlphaPerElement) {
  check_prelu({3, 2, 7}, {});
  check_prelu({37}, {});
}
TEST(PReLUOp, OneAlphaPerChannel) {
  check_prelu({3, 4, 5}, {1, 2});
  check_prelu({4, 2, 32}, {1, 2});
}
TEST(PReLUOp, OneAlpha) { check_prelu({3, 4, 5}, {1, 2, 3}); }
TEST(PReLUOp, OtherAxes) {
  check_prelu({3, 4, 5}, {1});
  check_prelu({3, 4, 5}, {2});
  check_prelu({3, 4, 5}, {3});
  check_prelu({3, 4, 5}, {1, 3});
  check_prelu({3, 4, 5}, {2, 3});
  check_prelu({2, 3, 2, 3, 2}, {1, 3, 5});
  check_prelu({1, 4, 1}, {1, 2});
}

/// Long sums are split into pieces; the naive gradient is exact enough without central differences.
TEST(PReLUOp, LongSums) {
  const Shape in{40, 30, 3};
  Case c = with(in, {1, 2});
  c.rows = 9;
  const Data data = make_data(c);
  std::vector<double> expected(3);
  for (std::size_t i = 0; i < data.inputs[0].values.size(); ++i) {
    const double x = data.inputs[0].values[i];
    if (x < 0) expected[i % 3] += x * data.output_gradient.values[i];
  }
  for (const auto& device : devices()) {
    SCOPED_TRACE(device->description());
    const Outcome found = run(*device, c, data, true, Wanted::kAll);
    expect_close(found.weight_gradients[0], expected, 2e-5, "gradient of alpha");  // of sums that cancel
  }
}

/// Keras's gradient at zero is zero.
TEST(PReLUOp, TheKink) {
  Case c = with({1}, {});
  c.rows = 1;
  Data data = make_data(c);
  data.inputs[0].values[0] = 0;
  for (const auto& device : devices()) {
    SCOPED_TRACE(device->description());
    const Outcome found = run(*device, c, data, true, Wanted::kAll);
    EXPECT_EQ(found.output[0], 0.0F);
    EXPECT_EQ(found.input_gradients[0][0], 0.0F);
    EXPECT_EQ(found.weight_gradients[0][0], 0.0F);
  }
}

}  // namespace
}  // namespace dptrain::test
