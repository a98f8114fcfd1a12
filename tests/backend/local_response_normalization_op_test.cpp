#include "nn/normalization.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

using Spec = nn::LocalResponseNormalizationSpec;

void check_local_response_normalization(const Spec& s, const Shape& in) {
  Case c;
  c.layer = layer(s);
  c.inputs = {in};
  c.low = -3;
  c.high = 3;
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    const Tensor& x = inputs[0];
    const std::int64_t channels = in.back();
    Tensor y = x;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.values.size()); ++i) {
      const std::int64_t channel = i % channels, pixel = i - channel;
      double sum = 0;
      for (std::int64_t k = std::max<std::int64_t>(0, channel - s.depth_radius);
           k <= std::min(channels - 1, channel + s.depth_radius); ++k)
        sum += std::pow(x.values[static_cast<std::size_t>(pixel + k)], 2);
      y.values[static_cast<std::size_t>(i)] /=
          std::pow(static_cast<double>(s.bias) + static_cast<double>(s.alpha) * sum, static_cast<double>(s.beta));
    }
    return y;
  });
}

TEST(LocalResponseNormalizationOp, Defaults) { check_local_response_normalization({}, {3, 2, 17}); }
TEST(LocalResponseNormalizationOp, ArgumentsOfTutorials) {
  check_local_response_normalization({.depth_radius = 4, .bias = 1.0F, .alpha = 0.001F / 9.0F, .beta = 0.75F},
                                     {2, 3, 20});
}
TEST(LocalResponseNormalizationOp, WindowWiderThanTheChannels) {
  check_local_response_normalization({.depth_radius = 7, .bias = 2.0F, .alpha = 0.5F, .beta = 0.6F}, {2, 2, 5});
}

}  // namespace
}  // namespace dptrain::test
