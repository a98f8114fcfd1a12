#include "nn/activations.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

TEST(ELUOp, Scales) {
  for (const float alpha : {1.0F, 0.0F, 0.3F, 1.7F}) {
    Case c;
    c.layer = layer(nn::ELUSpec{.alpha = alpha});
    c.inputs = {{3, 2, 7}};
    agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
      Tensor y = inputs[0];
      for (double& x : y.values) x = x > 0 ? x : static_cast<double>(alpha) * std::expm1(x);
      return y;
    });
  }
}

}  // namespace
}  // namespace dptrain::test
