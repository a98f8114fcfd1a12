#include "nn/dropout.h"

#include <gtest/gtest.h>

#include "backend/dropout_reference.h"

namespace dptrain::test {
namespace {

void check_spatial(float rate, const Shape& in) {
  Case c;
  c.layer = layer(nn::SpatialDropout2DSpec{.rate = rate});
  c.inputs = {in};
  c.inference = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) { return inputs[0]; };
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      y.values[i] *= dropout_factor(static_cast<double>(rate), at / in.elements(), at % in.back());
    }
    return y;
  });
}

TEST(SpatialDropout2DOp, Rates) {
  check_spatial(0.5F, {3, 5, 7});
  check_spatial(0.2F, {2, 1, 32});
  check_spatial(0.7F, {5, 4, 12});
}
TEST(SpatialDropout2DOp, ManyPositions) { check_spatial(0.4F, {7, 9, 1}); }
TEST(SpatialDropout2DOp, RateZero) { check_spatial(0.0F, {2, 3, 5}); }

}  // namespace
}  // namespace dptrain::test
