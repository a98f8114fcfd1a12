#include "backend/cpu/conv/conv_passes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace dptrain::backend::cpu {
namespace {

ConvShape few_channels() {
  return {{.in_h = 5,
           .in_w = 6,
           .in_channels = 1,
           .out_h = 5,
           .out_w = 6,
           .out_channels = 2,
           .kernel_h = 3,
           .kernel_w = 3,
           .pad_top = 1,
           .pad_bottom = 1,
           .pad_left = 1,
           .pad_right = 1},
          2,
          true,
          true,
          true};
}

void run(ConvPassKind kind, const ConvShape& shape, const ConvTensors& tensors) {
  const auto pass = make_first_conv(kind, shape);
  ASSERT_NE(pass, nullptr);
  std::vector<float> scratch(pass->scratch() / sizeof(float), NAN);
  pass->run(tensors, scratch.data());
}

/// The weights are a point in the middle and its negative: the convolution gives x and -x, each plus its bias.
TEST(FirstConvPass, PoolsForwardAndBackward) {
  const ConvShape shape = few_channels();
  std::vector<float> x(60), weights(18), y(24), dy(24), dweights(18), dbias(2);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 30);  // increases to the right and downwards
  weights[8] = 1.0F;
  weights[9] = -1.0F;
  const std::vector<float> bias = {0.5F, 7.5F};
  std::vector<std::uint8_t> argmax(24);
  run(ConvPassKind::kForward, shape,
      {.x = x.data(), .weights = weights.data(), .bias = bias.data(), .y = y.data(), .argmax = argmax.data()});
  // Corners of the windows: the last position is largest in the first channel, the first in the second.
  for (std::size_t i = 0; i < 12; ++i) {
    const std::size_t h = i % 6 / 3, w = i % 3;
    const float top_left = static_cast<float>(12 * h + 2 * w), bottom_right = top_left + 7.0F;
    EXPECT_EQ(y[2 * i], bottom_right + 0.5F);
    EXPECT_EQ(argmax[2 * i], 3);
    EXPECT_EQ(y[2 * i + 1], std::max(0.0F, 7.5F - top_left));
    EXPECT_EQ(argmax[2 * i + 1], top_left < 7.5F ? 0 : kernels::kNoArgmax);
  }
  for (float& value : dy) value = 1.0F;
  run(ConvPassKind::kBackwardWeights, shape,
      {.x = x.data(), .dy = dy.data(), .dweights = dweights.data(), .dbias = dbias.data(), .argmax = argmax.data()});
  EXPECT_EQ(dbias, (std::vector<float>{12.0F, 6.0F}));
  EXPECT_EQ(dweights[8], 2.0F * (7 + 9 + 11 + 19 + 21 + 23));  // the inputs at the pooled positions
  EXPECT_EQ(dweights[9], 2.0F * (0 + 2 + 4));
}

TEST(FirstConvPass, RejectsOtherShapes) {
  const auto made = [](auto change, ConvPassKind kind = ConvPassKind::kForward) {
    ConvShape shape = few_channels();
    change(shape);
    return make_first_conv(kind, shape) != nullptr;
  };
  EXPECT_TRUE(made([](ConvShape&) {}));
  EXPECT_TRUE(made([](ConvShape& s) { s.in_channels = 9; }));
  EXPECT_FALSE(made([](ConvShape& s) { s.in_channels = 10; }));
  EXPECT_FALSE(made([](ConvShape& s) { s.dilation_h = 2, s.dilation_w = 1; }));
  EXPECT_FALSE(made([](ConvShape& s) { s.stride_h = 1, s.stride_w = 3; }));
  EXPECT_FALSE(made([](ConvShape& s) { s.kernel_h = 9, s.kernel_w = 1; }));
  EXPECT_FALSE(made([](ConvShape& s) { s.in_channels = 2, s.groups = 2; }));
  EXPECT_FALSE(made([](ConvShape&) {}, ConvPassKind::kBackwardData));
}

}  // namespace
}  // namespace dptrain::backend::cpu
