#include "nn/dropout.h"

#include <gtest/gtest.h>

#include "backend/noise_reference.h"

namespace dptrain::test {
namespace {

void check_noise(float stddev, const Shape& in) {
  Case c;
  c.layer = layer(nn::GaussianNoiseSpec{.stddev = stddev});
  c.inputs = {in};
  c.inference = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) { return inputs[0]; };
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    const std::int64_t width = in.elements();
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      y.values[i] += static_cast<double>(stddev) * normal(at / width, at % width);
    }
    return y;
  });
}

TEST(GaussianNoiseOp, Widths) {
  check_noise(0.5F, {3, 5, 7});
  check_noise(1.0F, {129});
  check_noise(0.1F, {64});
}
TEST(GaussianNoiseOp, DeviationZero) { check_noise(0.0F, {5}); }

}  // namespace
}  // namespace dptrain::test
