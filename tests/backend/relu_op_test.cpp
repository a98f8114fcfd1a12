#include "nn/activations.h"

#include <gtest/gtest.h>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

void check_relu(const nn::ReLUSpec& spec) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {{5, 17}};
  c.low = -3;
  c.high = 4;
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    for (double& x : y.values) {
      if (spec.max_value && x >= static_cast<double>(*spec.max_value))
        x = static_cast<double>(*spec.max_value);
      else if (x <= static_cast<double>(spec.threshold))
        x = static_cast<double>(spec.negative_slope) * (x - static_cast<double>(spec.threshold));
    }
    return y;
  });
}

TEST(ReLUOp, Plain) { check_relu({}); }
TEST(ReLUOp, MaxValueSlopeThreshold) {
  check_relu({.max_value = 2.5F});
  check_relu({.max_value = {}, .negative_slope = 0.25F});
  check_relu({.max_value = 3.0F, .negative_slope = 0.1F, .threshold = 0.75F});
}

}  // namespace
}  // namespace dptrain::test
