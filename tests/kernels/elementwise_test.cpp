#include "kernels/cpu/elementwise.h"

#include <gtest/gtest.h>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::at;
using test::exactly;
using test::random_floats;
using test::written_floats;

constexpr int64_t kLong = kPieceElements + 77;  // two pieces, and a remainder smaller than a vector

TEST(Elementwise, ArithmeticOfTwoArrays) {
  for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{5}, int64_t{64}, kLong}) {
    const std::vector<float> a = random_floats(n, 1), b = random_floats(n, 2);
    std::vector<double> sum, product, affine;
    for (int64_t i = 0; i < n; ++i) {
      sum.push_back(at(a, i) + at(b, i));
      product.push_back(at(a, i) * at(b, i));
      affine.push_back(at(a, i) * 0.5 - 3.0);
    }
    agrees(sum, 1e-6, 1e-7, [&] { return written_floats(n, [&](float* y) { add(a.data(), b.data(), y, n); }); });
    agrees(product, 1e-6, 0.0,
           [&] { return written_floats(n, [&](float* y) { multiply(a.data(), b.data(), y, n); }); });
    agrees(affine, 1e-6, 1e-6,
           [&] { return written_floats(n, [&](float* y) { scale_offset(a.data(), 0.5F, -3.0F, y, n); }); });
    agrees(sum, 1e-6, 1e-7, [&] {
      std::vector<float> y = a;
      accumulate(b.data(), y.data(), n);
      return y;
    });
    agrees(exactly(a), 0.0, 0.0,
           [&] { return written_floats(n, [&](float* y) { copy({}, DType::kF32, a.data(), y, n); }); });
    agrees(std::vector<double>(static_cast<size_t>(n), 1.25), 0.0, 0.0,
           [&] { return written_floats(n, [&](float* y) { fill(1.25F, y, n); }); });
  }
}

TEST(Elementwise, DifferencesAndExtremes) {
  for (const int64_t n : {int64_t{0}, int64_t{5}, int64_t{64}, kLong}) {
    std::vector<float> a = random_floats(n, 1), b = random_floats(n, 2), left = random_floats(n, 3);
    for (size_t i = 0; i < a.size(); i += 3) b[i] = a[i];
    std::vector<double> difference, larger, smaller, taken, rest;
    for (int64_t i = 0; i < n; ++i) {
      difference.push_back(at(a, i) - at(b, i));
      larger.push_back(std::max(at(a, i), at(b, i)));
      smaller.push_back(std::min(at(a, i), at(b, i)));
      taken.push_back(i % 3 == 0 ? at(left, i) : 0.0);
      rest.push_back(i % 3 == 0 ? 0.0 : at(left, i));
    }
    agrees(difference, 1e-6, 1e-7,
           [&] { return written_floats(n, [&](float* y) { subtract(a.data(), b.data(), y, n); }); });
    agrees(larger, 0.0, 0.0, [&] { return written_floats(n, [&](float* y) { maximum(a.data(), b.data(), y, n); }); });
    agrees(smaller, 0.0, 0.0, [&] { return written_floats(n, [&](float* y) { minimum(a.data(), b.data(), y, n); }); });
    agrees(taken, 0.0, 0.0, [&] {
      std::vector<float> rest_of_it = left;
      return written_floats(n, [&](float* y) { move_where_equal(a.data(), b.data(), rest_of_it.data(), y, n); });
    });
    agrees(rest, 0.0, 0.0, [&] {
      std::vector<float> rest_of_it = left;
      move_where_equal(a.data(), b.data(), rest_of_it.data(), nullptr, n);
      return rest_of_it;
    });
  }
}

TEST(Elementwise, ClipsSumsAtZero) {
  for (const int64_t n : {int64_t{0}, int64_t{5}, int64_t{64}, kLong}) {
    const std::vector<float> a = random_floats(n, 1), b = random_floats(n, 2), dy = random_floats(n, 3);
    std::vector<double> y, gradients;
    for (int64_t i = 0; i < n; ++i) y.push_back(std::max(0.0, at(a, i) + at(b, i)));
    for (int64_t i = 0; i < 2 * n; ++i) gradients.push_back(y[static_cast<size_t>(i % n)] > 0 ? at(dy, i % n) : 0.0);
    const std::vector<float> out(y.begin(), y.end());
    agrees(y, 1e-6, 1e-7, [&] { return written_floats(n, [&](float* to) { add_relu(a.data(), b.data(), to, n); }); });
    agrees(gradients, 0.0, 0.0, [&] {
      return written_floats(2 * n, [&](float* to) { add_relu_backward(out.data(), dy.data(), to, to + n, n); });
    });
  }
}

TEST(Elementwise, ClippedSumsKeepNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a{nan, 1.0F, -2.0F}, b{1.0F, nan, 1.0F};
  test::on_every_target([&] {
    const std::vector<float> y = written_floats(3, [&](float* out) { add_relu(a.data(), b.data(), out, 3); });
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
    EXPECT_EQ(y[2], 0.0F);
  });
}

TEST(Elementwise, ExtremesKeepNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a{nan, 1.0F, nan}, b{1.0F, nan, nan};
  for (const auto extreme : {maximum, minimum})
    test::on_every_target([&] {
      for (const float y : written_floats(3, [&](float* out) { extreme(a.data(), b.data(), out, 3); }))
        EXPECT_TRUE(std::isnan(y));
    });
}

TEST(Elementwise, BytesToFloats) {
  std::vector<uint8_t> bytes(static_cast<size_t>(kLong));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  std::vector<double> expected;
  for (const uint8_t byte : bytes) expected.push_back(byte / 127.5 - 1.0);
  agrees(expected, 1e-6, 1e-7, [&] {
    return written_floats(kLong, [&](float* y) { u8_to_f32(bytes.data(), 1.0F / 127.5F, -1.0F, y, kLong); });
  });
}

struct Matrix {
  int64_t rows, channels;
};

constexpr Matrix kMatrices[] = {{3, 5},    {1, 1},    {5000, 1}, {1000, 3}, {777, 10},
                                {300, 16}, {700, 32}, {90, 147}, {40000, 7}};

TEST(Elementwise, BiasAndItsGradient) {
  for (const Matrix& matrix : kMatrices) {
    const int64_t rows = matrix.rows, channels = matrix.channels;
    SCOPED_TRACE(testing::Message() << rows << " x " << channels);
    const std::vector<float> x = random_floats(rows * channels, 4), bias = random_floats(channels, 5);
    std::vector<double> y, sums(static_cast<size_t>(channels));
    for (int64_t i = 0; i < rows * channels; ++i) {
      y.push_back(at(x, i) + at(bias, i % channels));
      sums[static_cast<size_t>(i % channels)] += at(x, i);
    }
    agrees(y, 1e-6, 1e-7, [&] {
      return written_floats(rows * channels, [&](float* out) { bias_add(x.data(), bias.data(), rows, channels, out); });
    });
    // Rounding of sums of about sqrt(rows); chains of 256 additions.
    agrees(sums, 1e-5, 1e-5 * std::sqrt(static_cast<double>(rows)), [&] {
      const std::vector<float> sized(static_cast<size_t>(bias_gradient_workspace(rows, channels)));
      std::vector<float> gradient;
      written_floats(static_cast<int64_t>(sized.size()), [&](float* workspace) {
        gradient =
            written_floats(channels, [&](float* out) { bias_gradient(x.data(), rows, channels, workspace, out); });
      });
      return gradient;
    });
  }
}

TEST(Elementwise, BiasGradientOfNoRowsIsZero) {
  agrees({0.0, 0.0, 0.0}, 0.0, 0.0,
         [] { return written_floats(3, [](float* out) { bias_gradient(nullptr, 0, 3, nullptr, out); }); });
}

}  // namespace
}  // namespace dptrain::kernels::cpu
