#include "kernels/cuda/depthwise.h"

#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

/// Calls f(x index, weight index, y index) for every product.
template <class F>
void each_product(const DepthwiseShape& s, std::int64_t rows, const F& f) {
  for (std::int64_t n = 0; n < rows; ++n)
    for (std::int64_t oh = 0; oh < s.out_h; ++oh)
      for (std::int64_t ow = 0; ow < s.out_w; ++ow)
        for (std::int64_t kh = 0; kh < s.kernel_h; ++kh)
          for (std::int64_t kw = 0; kw < s.kernel_w; ++kw) {
            const std::int64_t h = oh * s.stride_h + kh * s.dilation_h - s.pad_top;
            const std::int64_t w = ow * s.stride_w + kw * s.dilation_w - s.pad_left;
            if (h < 0 || h >= s.in_h || w < 0 || w >= s.in_w) continue;
            for (std::int64_t o = 0; o < s.out_channels(); ++o)
              f(((n * s.in_h + h) * s.in_w + w) * s.channels + o / s.multiplier,
                (kh * s.kernel_w + kw) * s.out_channels() + o,
                ((n * s.out_h + oh) * s.out_w + ow) * s.out_channels() + o);
          }
}

void expect_agreement(const DepthwiseShape& s, DType type, int offset) {
  const std::int64_t rows = 3, in = rows * s.in_h * s.in_w * s.channels;
  const std::int64_t out = rows * s.out_h * s.out_w * s.out_channels();
  const Tensor x(type, random_floats(in, 1), offset), dy(type, random_floats(out, 2), offset);
  const Array<float> weights(random_floats(s.weights(), 3), offset), bias(random_floats(s.out_channels(), 4), offset);
  Tensor y(type, out, offset), rectified(type, out, offset), dx(type, in, offset);
  Array<float> dweights(s.weights(), offset), scratch(depthwise_workspace(type, s, rows));
  depthwise_forward(test_launch(), type, s, x.data(), weights.data(), bias.data(), false, rows, y.data());
  depthwise_forward(test_launch(), type, s, x.data(), weights.data(), nullptr, true, rows, rectified.data());
  depthwise_backward_data(test_launch(), type, s, dy.data(), weights.data(), rows, dx.data());
  depthwise_backward_weights(test_launch(), type, s, x.data(), dy.data(), rows, scratch.data(), dweights.data());

  const auto from = x.read(), by = weights.read(), shift = bias.read(), g = dy.read();
  std::vector<double> plain(static_cast<std::size_t>(out)), sums(plain.size()), data(static_cast<std::size_t>(in)),
      gradient(static_cast<std::size_t>(s.weights()));
  each_product(s, rows, [&](std::int64_t i, std::int64_t tap, std::int64_t o) {
    plain[static_cast<std::size_t>(o)] += at(from, i) * at(by, tap);
    data[static_cast<std::size_t>(i)] += at(g, o) * at(by, tap);
    gradient[static_cast<std::size_t>(tap)] += at(from, i) * at(g, o);
  });
  for (std::size_t i = 0; i < plain.size(); ++i) {
    sums[i] = plain[i] + static_cast<double>(shift[i % shift.size()]);
    plain[i] = std::max(plain[i], 0.0);
  }
  // Sums of dozens of products of size up to four; gradients of weights add hundreds.
  expect_near(type, sums, y.read(), 1e-6, 2e-5);
  expect_near(type, plain, rectified.read(), 1e-6, 2e-5);
  expect_near(type, data, dx.read(), 1e-6, 2e-5);
  expect_near(DType::kF32, gradient, dweights.read(), 1e-6, 1e-4);
  scratch.read();
}

TEST(GpuDepthwise, EqualsTheNaiveLoops) {
  for (const DepthwiseShape& s : {DepthwiseShape{7, 9, 16, 1, 7, 9, 3, 3, 1, 1, 1, 1, 1, 1},   // packs
                                  DepthwiseShape{8, 6, 5, 1, 4, 3, 3, 3, 2, 2, 1, 1, 0, 0},    // stride 2
                                  DepthwiseShape{7, 8, 8, 1, 7, 8, 5, 5, 1, 1, 1, 1, 2, 2},    // 5x5
                                  DepthwiseShape{9, 8, 3, 1, 5, 6, 3, 2, 1, 1, 2, 2, 0, 0},    // dilated
                                  DepthwiseShape{5, 6, 4, 3, 3, 3, 3, 3, 2, 2, 1, 1, 1, 0},    // a multiplier
                                  DepthwiseShape{5, 6, 4, 1, 2, 2, 1, 2, 3, 4, 1, 1, 0, 0},    // unread inputs
                                  DepthwiseShape{1, 2, 130, 1, 1, 2, 7, 7, 1, 1, 1, 1, 3, 3},  // two tiles of columns
                                  // around a tile of 32 columns and 64 positions, with three rows
                                  DepthwiseShape{3, 7, 31, 1, 3, 7, 1, 1, 1, 1, 1, 1, 0, 0},
                                  DepthwiseShape{2, 11, 32, 1, 2, 11, 1, 1, 1, 1, 1, 1, 0, 0},
                                  DepthwiseShape{1, 22, 33, 1, 1, 22, 1, 1, 1, 1, 1, 1, 0, 0},
                                  DepthwiseShape{1, 43, 65, 1, 1, 43, 1, 1, 1, 1, 1, 1, 0, 0}})
    on_every_type([&](DType type, int offset) { expect_agreement(s, type, offset); });
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
