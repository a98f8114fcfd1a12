#pragma once

// Checks of both Maximum and Minimum.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/merge_reference.h"
#include "backend/one_op.h"

namespace dptrain::test {

/// Without ties: the inputs differ by more than the step of central differences.
template <class Spec>
void check_extreme(const std::vector<Shape>& inputs, const Shape& out, double (*which)(double, double)) {
  Case c;
  c.layer = layer(Spec{});
  c.inputs = inputs;
  c.values = [](std::vector<Tensor>& all) {
    for (std::size_t i = 0; i < all.size(); ++i)
      for (double& value : all[i].values)
        value = static_cast<double>(static_cast<float>(value + 1e-3 * static_cast<double>(i)));
  };
  agrees(c, merged(inputs, out, which));
}

/// Three inputs with ties of every kind: the first of the equal inputs receives the gradient, as in TensorFlow's chain
/// of binary operations. `sign`: 1 for the largest, -1 for the smallest.
template <class Spec>
void check_ties(double sign) {
  Case c;
  c.layer = layer(Spec{});
  c.inputs = {{4}, {4}, {4}};
  c.rows = 1;
  Data data = make_data(c);
  const double values[3][4] = {{1, 2, 3, 0}, {1, 2, 0, 3}, {0, 2, 3, 3}};
  const double winners[3][4] = {{1, 1, 1, 0}, {0, 0, 0, 1}, {0, 0, 0, 0}};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t e = 0; e < 4; ++e) data.inputs[i].values[e] = sign * values[i][e];
  for (const auto& device : devices()) {
    SCOPED_TRACE(device->description());
    const Outcome found = run(*device, c, data, true, Wanted::kAll);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t e = 0; e < 4; ++e)
        EXPECT_EQ(static_cast<double>(found.input_gradients[i][e]), winners[i][e] * data.output_gradient.values[e])
            << "input " << i << ", element " << e;
  }
}

/// NaN at any position of any input gives NaN.
template <class Spec>
void check_nan() {
  Case c;
  c.layer = layer(Spec{});
  c.inputs = {{3}, {3}, {1}};
  c.rows = 1;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& device : devices()) {
    SCOPED_TRACE(device->description());
    std::vector<Tensor> inputs{batch(1, {3}), batch(1, {3}), batch(1, {1})};
    inputs[0](0, 0) = nan;
    inputs[1](0, 1) = nan;
    std::vector<float> y = infer(*device, c, inputs, {});
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]) && y[2] == 0);
    inputs[2](0, 0) = nan;
    y = infer(*device, c, inputs, {});
    EXPECT_TRUE(std::isnan(y[2]));
  }
}

}  // namespace dptrain::test
