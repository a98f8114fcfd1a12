#include "kernels/cpu/gemm_conv.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/conv_reference.h"
#include "kernels/support.h"
#include "support/sanitizer.h"
#include "support/tier.h"

namespace dptrain::kernels::cpu {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

/// dweights, aligned as in a plan, then dbias. The workspace is filled with NaN and must suffice.
std::vector<float> weight_gradient(const ConvWindow& w, const std::vector<float>& x, const std::vector<float>& dy,
                                   int64_t rows, bool bias) {
  constexpr int64_t kGuard = 32;
  const int64_t floats = gemm_conv_backward_weights_workspace(w, rows, thread_count());
  std::vector<float> scratch(static_cast<size_t>(floats + 2 * kGuard), NAN), dbias(static_cast<size_t>(w.out_channels));
  for (int64_t i = 0; i < kGuard; ++i)
    scratch[static_cast<size_t>(i)] = scratch[static_cast<size_t>(floats + kGuard + i)] = 7;
  std::vector<float> gradient(static_cast<size_t>(w.weights() + 2 * kGuard), NAN);
  float* const dweights = gradient.data() + (64 - reinterpret_cast<uintptr_t>(gradient.data()) % 64) / sizeof(float);
  gemm_conv_backward_weights(w, x.data(), dy.data(), rows, scratch.data() + kGuard, dweights,
                             bias ? dbias.data() : nullptr);
  std::vector<float> result(dweights, dweights + w.weights());
  EXPECT_TRUE(std::isnan(dweights[-1]) && std::isnan(dweights[w.weights()])) << "wrote outside of the gradient";
  for (int64_t i = 0; i < kGuard; ++i)
    EXPECT_TRUE(scratch[static_cast<size_t>(i)] == 7 && scratch[static_cast<size_t>(floats + kGuard + i)] == 7)
        << "wrote outside of the workspace";
  result.insert(result.end(), dbias.begin(), dbias.end());
  return result;
}

/// Compares with sums in double. The rounding error of sums of products below 1 grows with the root of their number;
/// the constant is twice the largest error of all elements here.
void check(const ConvWindow& w, int64_t rows, uint32_t seed, bool bias = true) {
  SCOPED_TRACE(testing::Message() << rows << " of " << w.in_h << "x" << w.in_w << "x" << w.in_channels << " to "
                                  << w.out_h << "x" << w.out_w << "x" << w.out_channels << ", kernel " << w.kernel_h
                                  << "x" << w.kernel_w << ", stride " << w.stride_h << ", seed " << seed);
  const std::vector<float> x = random_floats(rows * in_size(w), seed, -1, 1);
  const std::vector<float> dy = random_floats(rows * out_size(w), seed + 1, -1, 1);
  std::vector<double> expected = naive_weight_gradient(w, x, dy, rows);
  if (!bias) std::fill(expected.end() - w.out_channels, expected.end(), 0.0);
  const double products = static_cast<double>(std::max<int64_t>(1, rows * w.out_h * w.out_w));
  agrees(expected, 0, 3e-6 * std::sqrt(products), [&] { return weight_gradient(w, x, dy, rows, bias); });
}

TEST(GemmConvTest, MatricesOfAnySize) {
  for (const int64_t in : {1, 15, 16, 17, 40})
    for (const int64_t out : {1, 7, 16, 33, 64})
      for (const int64_t rows : {1, 2, 13, 129})
        check(matrix_window(in, out), rows, static_cast<uint32_t>(in * 64 + out));
}

TEST(GemmConvTest, SeveralBlocksOfTheGradient) {
  check(matrix_window(300, 290), 150, 1);
  check(matrix_window(600, 530), 40, 35);
  check(matrix_window(272, 304), 511, 36);  // several chunks of windows
}

TEST(GemmConvTest, SplitsManyRowsIntoParts) {
  check(matrix_window(20, 18), 3100, 2);
  if (!dptrain::test::kThreadSanitizer) check(matrix_window(264, 256), 2100, 34);  // more than are read in place
  check(conv_window(9, 9, 5, 6, 3, 2, 1, 1), 130, 3);
}

TEST(GemmConvTest, ReadsManyRowsInPlace) {
  check(matrix_window(64, 64), 256, 12);  // every number of rows and vectors of a tile, on any instruction set
  check(matrix_window(4, 16), 300, 13);
  check(matrix_window(44, 80), 257, 14);
  check(matrix_window(24, 112), 640, 15);
  check(matrix_window(272, 240), 511, 16);  // several blocks of the gradient
  check(matrix_window(20, 32), 8200, 17);   // and parts of the batch
  check(matrix_window(16, 32), 1029, 18, false);
  check(matrix_window(36, 24), 300, 26);  // columns smaller than a vector
  check(matrix_window(8, 17), 270, 27);
  check(matrix_window(28, 91), 1030, 28);
}

TEST(GemmConvTest, ReadsStridedPixelsInPlace) {
  check(conv_window(14, 14, 16, 48, 1, 2, 0, 0), 21, 19);
  check(conv_window(9, 7, 28, 32, 1, 2, 0, 0), 30, 20);
  check(conv_window(13, 10, 12, 16, 1, 3, 0, 0), 40, 21);
  check(conv_window(28, 28, 8, 16, 1, 2, 0, 0), 11, 22);
  check(conv_window(2, 2, 16, 32, 1, 2, 0, 0), 300, 29);  // one window of each image
  check(conv_window(1, 1, 16, 32, 1, 2, 0, 0), 300, 30);
  check(conv_window(5, 6, 8, 16, 1, 7, 0, 0), 260, 31);
  check(conv_window(63, 1, 16, 32, 1, 2, 0, 0), 9, 32);  // lines of one
  check(conv_window(64, 2, 16, 32, 1, 2, 0, 0), 9, 33);
  check(conv_window(300, 3, 4, 16, 1, 2, 0, 0), 2, 23);    // lines of two windows
  check(conv_window(3, 300, 4, 16, 1, 2, 0, 0), 2, 24);    // lines longer than a block: packed
  check(conv_window(14, 14, 16, 32, 1, 2, 1, 1), 21, 25);  // windows outside the image: packed
}

TEST(GemmConvTest, WritesLargeGradientsWithNonTemporalStores) {
  check(matrix_window(2048, 1040), 2, 4);
  check(matrix_window(2047, 1040), dptrain::test::kThreadSanitizer ? 9 : 258,
        5);  // two chunks of windows; the reference takes most of a minute
}

TEST(GemmConvTest, WindowsAndStrides) {
  check(conv_window(7, 7, 20, 24, 3, 2, 1, 1), 3, 5);
  check(conv_window(8, 8, 20, 24, 3, 2, 0, 1), 3, 6);
  check(conv_window(8, 8, 33, 17, 1, 2, 0, 0), 5, 7);
  check(conv_window(6, 6, 19, 17, 1, 1, 0, 0), 5, 8);
  check(conv_window(9, 9, 8, 8, 5, 2, 2, 2), 2, 9);
  check(conv_window(9, 9, 2, 3, 7, 3, 3, 3), 2, 10);
  check(conv_window(9, 9, 1, 3, 7, 2, 3, 3), 20, 37);  // rows of the gradient from several taps at a time
  check(conv_window(12, 12, 30, 20, 3, 2, 1, 1), 9, 38);
}

TEST(GemmConvTest, WithoutBias) { check(conv_window(5, 5, 8, 9, 3, 2, 1, 1), 2, 11, false); }

TEST(GemmConvTest, NoRowsGiveZeros) {
  const ConvWindow w = matrix_window(5, 6);
  for (const float g : weight_gradient(w, {}, {}, 0, true)) EXPECT_EQ(g, 0.0F);
}

TEST(GemmConvTest, RandomShapes) {
  std::mt19937 generator(tier::case_seed(20));
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator() % static_cast<uint32_t>(high - low + 1));
  };
  for (int i = 0; i < tier::how_many(60, 600); ++i) {
    const int64_t kernel = draw(1, 5), stride = draw(1, 3), size = draw(kernel, kernel + 5);
    ConvWindow w = conv_window(size, size + draw(0, 2), draw(1, 40), draw(1, 40), kernel, stride, draw(0, kernel - 1),
                               draw(0, kernel - 1));
    w.stride_w = draw(1, 2);
    w.out_w = (w.in_w + w.pad_left - kernel) / w.stride_w + 1;
    check(w, draw(1, 4), 1000 + static_cast<uint32_t>(i));
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
