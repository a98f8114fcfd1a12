#include "kernels/cpu/depthwise.h"

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

/// Calls f(x index, weight index, y index) for every product.
template <class F>
void each_product(const DepthwiseShape& s, int64_t rows, const F& f) {
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t oh = 0; oh < s.out_h; ++oh)
      for (int64_t ow = 0; ow < s.out_w; ++ow)
        for (int64_t kh = 0; kh < s.kernel_h; ++kh)
          for (int64_t kw = 0; kw < s.kernel_w; ++kw) {
            const int64_t h = oh * s.stride_h + kh * s.dilation_h - s.pad_top;
            const int64_t w = ow * s.stride_w + kw * s.dilation_w - s.pad_left;
            if (h < 0 || h >= s.in_h || w < 0 || w >= s.in_w) continue;
            for (int64_t o = 0; o < s.out_channels(); ++o)
              f(static_cast<size_t>(((n * s.in_h + h) * s.in_w + w) * s.channels + o / s.multiplier),
                static_cast<size_t>((kh * s.kernel_w + kw) * s.out_channels() + o),
                static_cast<size_t>(((n * s.out_h + oh) * s.out_w + ow) * s.out_channels() + o));
          }
}

/// in_h, in_w, channels, multiplier, out_h, out_w, kernel, stride, dilation, pads.
const DepthwiseShape kDepthwiseShapes[] = {
    {7, 21, 37, 1, 7, 21, 3, 3, 1, 1, 1, 1, 1, 1},  // 3x3 same: blocks of eight and four, a partial vector
    {8, 10, 16, 1, 4, 5, 3, 3, 2, 2, 1, 1, 0, 0},   // stride 2, padded after only
    {9, 13, 19, 1, 9, 13, 5, 5, 1, 1, 1, 1, 2, 2},  // 5x5
    {11, 9, 5, 1, 6, 5, 5, 5, 2, 2, 1, 1, 2, 2},    // 5x5 stride 2
    {9, 41, 21, 1, 5, 21, 3, 3, 2, 2, 1, 1, 1, 1},  // 3x3 stride 2: blocks of eight and four
    {6, 31, 33, 1, 6, 31, 5, 5, 1, 1, 1, 1, 2, 2},  // 5x5: as above
    {8, 60, 18, 1, 4, 30, 5, 5, 2, 2, 1, 1, 1, 1},  // 5x5 stride 2: as above, padded by one before and two after
    {5, 30, 16, 1, 5, 15, 3, 3, 1, 2, 1, 1, 1, 0},  // different strides
    {7, 26, 40, 1, 4, 26, 5, 3, 2, 1, 1, 1, 2, 1},  // and window sides
    {9, 24, 17, 1, 5, 24, 3, 3, 1, 1, 2, 1, 0, 1},  // dilated along the rows only
    {10, 12, 3, 1, 6, 8, 3, 3, 1, 1, 2, 2, 0, 0},   // dilated, valid
    {6, 7, 5, 3, 6, 7, 3, 3, 1, 1, 1, 1, 1, 1},     // three filters per channel
    {7, 9, 9, 2, 4, 5, 3, 3, 2, 2, 1, 1, 1, 1},     // two, stride 2
    {5, 6, 4, 1, 2, 2, 1, 2, 3, 4, 1, 1, 0, 0},     // strides beyond the window: unread inputs
    {2, 3, 8, 1, 2, 3, 7, 7, 1, 1, 1, 1, 3, 3},     // a window larger than the image
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0},
};

class DepthwiseKernel : public testing::TestWithParam<DepthwiseShape> {};

TEST_P(DepthwiseKernel, EqualsTheNaiveLoops) {
  const DepthwiseShape s = GetParam();
  const int64_t rows = 3, in = rows * s.in_h * s.in_w * s.channels, out = rows * s.out_h * s.out_w * s.out_channels();
  const auto x = random_floats(in, 1), weights = random_floats(s.weights(), 2),
             bias = random_floats(s.out_channels(), 3);
  const auto dy = random_floats(out, 4);
  std::vector<double> y(static_cast<size_t>(out)), dx(static_cast<size_t>(in)),
      dweights(static_cast<size_t>(s.weights()));
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(bias[i % bias.size()]);
  each_product(s, rows, [&](size_t at, size_t tap, size_t to) {
    y[to] += static_cast<double>(x[at]) * static_cast<double>(weights[tap]);
    dx[at] += static_cast<double>(dy[to]) * static_cast<double>(weights[tap]);
    dweights[tap] += static_cast<double>(x[at]) * static_cast<double>(dy[to]);
  });
  std::vector<double> rectified = y;
  for (double& value : rectified) value = std::max(value, 0.0);

  const auto forward = [&](bool relu) {
    return written_floats(
        out, [&](float* to) { depthwise_forward(s, x.data(), weights.data(), bias.data(), relu, rows, to); });
  };
  const auto data = [&] {
    return written_floats(in, [&](float* to) { depthwise_backward_data(s, dy.data(), weights.data(), rows, to); });
  };
  const auto gradient = [&] {
    std::vector<float> scratch(static_cast<size_t>(depthwise_workspace(s, rows)), NAN);
    return written_floats(
        s.weights(), [&](float* to) { depthwise_backward_weights(s, x.data(), dy.data(), rows, scratch.data(), to); });
  };
  on_every_target([&] {
    use_threads(1);
    const auto found = forward(false), found_dx = data(), found_dw = gradient();
    // A window sums a few dozen products of size up to four; gradients of weights some hundred.
    expect_near(y, found, 1e-6, 2e-5);
    expect_near(rectified, forward(true), 1e-6, 2e-5);
    expect_near(dx, found_dx, 1e-6, 2e-5);
    expect_near(dweights, found_dw, 1e-6, 1e-4);
    use_threads(3);
    EXPECT_EQ(found, forward(false));
    EXPECT_EQ(found_dx, data());
    EXPECT_EQ(found_dw, gradient());
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, DepthwiseKernel, testing::ValuesIn(kDepthwiseShapes));

/// A sample's activations have the same bits in every batch.
TEST(DepthwiseKernel, RowsAreIndependent) {
  const DepthwiseShape s = kDepthwiseShapes[0];
  const int64_t in = s.in_h * s.in_w * s.channels, out = s.out_h * s.out_w * s.out_channels();
  const auto x = random_floats(5 * in, 1), weights = random_floats(s.weights(), 2);
  std::vector<float> all(static_cast<size_t>(5 * out)), one(static_cast<size_t>(out));
  depthwise_forward(s, x.data(), weights.data(), nullptr, false, 5, all.data());
  depthwise_forward(s, x.data() + 3 * in, weights.data(), nullptr, false, 1, one.data());
  EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + 3 * out));
}

}  // namespace
}  // namespace dptrain::kernels::cpu
