#include "nn/normalization.h"

#include <gtest/gtest.h>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

TEST(RescalingOp, ScaleAndOffset) {
  Case c;
  c.layer = layer(nn::RescalingSpec{.scale = {{1.0 / 127.5}}, .offset = {{-1}}});
  c.inputs = {{3, 5, 3}};
  c.low = 0;
  c.high = 255;
  agrees(c, [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    for (double& x : y.values) x = x / 127.5 - 1;
    return y;
  });
}

void check_channels(const nn::ChannelValues& scale, const nn::ChannelValues& offset, const Shape& in) {
  Case c;
  c.layer = layer(nn::RescalingSpec{.scale = scale, .offset = offset});
  c.inputs = {in};
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const std::size_t channel = i % static_cast<std::size_t>(in.back());
      y.values[i] = y.values[i] * scale.of(channel) + offset.of(channel);
    }
    return y;
  });
}

TEST(RescalingOp, PerChannel) {
  check_channels({{0.5, -2, 1.5}}, {{0.25}}, {5, 7, 3});
  check_channels({{2}}, {{0.5, -1, 0.25, 3}}, {9, 4});
  check_channels({{0.5, -2, 1.5, 1, 0.75}}, {{0.5, -1, 0.25, 3, 0}}, {5});
}

}  // namespace
}  // namespace dptrain::test
