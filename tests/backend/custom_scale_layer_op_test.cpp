#include "nn/normalization.h"

#include <gtest/gtest.h>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

void check_custom_scale(double scale, const Shape& in) {
  Case c;
  c.layer = layer(nn::CustomScaleLayerSpec{scale});
  c.inputs = {in, in};
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += scale * inputs[1].values[i];
    return y;
  });
}

TEST(CustomScaleLayerOp, Shapes) {
  check_custom_scale(0.17, {3, 5, 7});
  check_custom_scale(-2, {32});
  check_custom_scale(1, {4, 3});
}

}  // namespace
}  // namespace dptrain::test
