#include "nn/dropout.h"

#include <gtest/gtest.h>

#include "backend/noise_reference.h"

namespace dptrain::test {
namespace {

void check_gaussian_dropout(float rate, const Shape& in) {
  Case c;
  c.layer = layer(nn::GaussianDropoutSpec{.rate = rate});
  c.inputs = {in};
  c.inference = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) { return inputs[0]; };
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    const std::int64_t width = in.elements();
    const double share = static_cast<double>(rate), deviation = std::sqrt(share / (1 - share));
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      y.values[i] *= 1 + deviation * normal(at / width, at % width);
    }
    return y;
  });
}

TEST(GaussianDropoutOp, Widths) {
  check_gaussian_dropout(0.5F, {3, 5, 7});
  check_gaussian_dropout(0.9F, {129});
  check_gaussian_dropout(0.1F, {64});
}
TEST(GaussianDropoutOp, RateZero) { check_gaussian_dropout(0.0F, {5}); }

}  // namespace
}  // namespace dptrain::test
