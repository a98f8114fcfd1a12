#include "nn/activations.h"

#include <gtest/gtest.h>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

TEST(LeakyReLUOp, Slopes) {
  for (const float slope : {0.3F, 0.0F, 1.5F}) {
    Case c;
    c.layer = layer(nn::LeakyReLUSpec{.negative_slope = slope});
    c.inputs = {{3, 2, 7}};
    agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
      Tensor y = inputs[0];
      for (double& x : y.values) x = x > 0 ? x : static_cast<double>(slope) * x;
      return y;
    });
  }
}

}  // namespace
}  // namespace dptrain::test
