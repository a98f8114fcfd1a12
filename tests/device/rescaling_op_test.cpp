#include "layers/rescaling.h"

#include <gtest/gtest.h>

#include "device/harness.h"

namespace dptrain::test {
namespace {

TEST(RescalingOp, ScaleAndOffset) {
  Case c;
  c.layer = layer(layers::RescalingSpec{.scale = 1.0 / 127.5, .offset = -1});
  c.inputs = {{3, 5, 3}};
  c.low = 0;
  c.high = 255;
  agrees(c, [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    for (double& x : y.values) x = x / 127.5 - 1;
    return y;
  });
}

}  // namespace
}  // namespace dptrain::test
