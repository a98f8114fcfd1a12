#include "nn/dropout.h"

#include <gtest/gtest.h>

#include "backend/dropout_reference.h"

namespace dptrain::test {
namespace {

void check_depth(float rate, const Shape& in, std::int64_t rows) {
  Case c;
  c.layer = layer(nn::StochasticDepthSpec{.drop_path_rate = rate});
  c.inputs = {in};
  c.rows = rows;
  c.inference = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) { return inputs[0]; };
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    for (std::size_t i = 0; i < y.values.size(); ++i)
      y.values[i] *= dropout_factor(static_cast<double>(rate), static_cast<std::int64_t>(i) / in.elements(), 0);
    return y;
  });
}

TEST(StochasticDepthOp, DropsSamples) {
  check_depth(0.5F, {3, 5, 7}, 6);
  check_depth(0.2F, {32}, 9);
  check_depth(0.7F, {5, 4}, 4);
}
TEST(StochasticDepthOp, RateZero) { check_depth(0.0F, {2, 3, 5}, 3); }

}  // namespace
}  // namespace dptrain::test
