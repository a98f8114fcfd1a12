#include "kernels/cuda/softmax.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/cpu/softmax.h"
#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND::test {
namespace {

struct SoftmaxShape {
  std::int64_t rows, classes;
};
// A thread, a warp and a block per row, and widths around their limits; more rows than groups of threads.
constexpr std::array kSoftmaxShapes{
    SoftmaxShape{1, 1},    SoftmaxShape{700, 3}, SoftmaxShape{5, 8},   SoftmaxShape{131, 9}, SoftmaxShape{3, 37},
    SoftmaxShape{19, 300}, SoftmaxShape{2, 7},   SoftmaxShape{2, 31},  SoftmaxShape{2, 32},  SoftmaxShape{2, 33},
    SoftmaxShape{2, 65},   SoftmaxShape{2, 255}, SoftmaxShape{2, 256}, SoftmaxShape{2, 257}, SoftmaxShape{2, 513}};

std::vector<double> softmax_of(const std::vector<float>& x, const SoftmaxShape& shape) {
  std::vector<double> y(x.begin(), x.end());
  for (auto row = y.begin(); row != y.end(); row += shape.classes) {
    const double most = *std::max_element(row, row + shape.classes);
    double sum = 0;
    for (auto i = row; i != row + shape.classes; ++i) sum += (*i = std::exp(*i - most));
    for (auto i = row; i != row + shape.classes; ++i) *i /= sum;
  }
  return y;
}

TEST(Softmax, ForwardEqualsThatOfDoubles) {
  for (const SoftmaxShape& shape : kSoftmaxShapes) {
    on_every_type([&](DType type, int offset) {
      const std::int64_t n = shape.rows * shape.classes;
      Tensor x(type, random_floats(n, 1, -9.0F, 9.0F), offset), y(type, n, offset);
      softmax_forward(test_launch(), type, x.data(), shape.rows, shape.classes, y.data());
      // e^t of a float t of up to 18 has an error of 18 roundings.
      expect_near(type, softmax_of(x.read(), shape), y.read(), 3e-6, 1e-12);

      Array<float> wide(n, offset);
      softmax_probabilities(test_launch(), type, x.data(), shape.rows, shape.classes, wide.data());
      expect_near(DType::kF32, softmax_of(x.read(), shape), wide.read(), 3e-6, 1e-12);

      const std::vector<double> expected = softmax_of(x.read(), shape);
      softmax_forward(test_launch(), type, x.data(), shape.rows, shape.classes, x.data());
      expect_near(type, expected, x.read(), 3e-6, 1e-12);
    });
  }
}

TEST(Softmax, LargeLogitsAndInfinitiesStayFinite) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::int64_t classes : {std::int64_t{4}, std::int64_t{40}, std::int64_t{400}}) {
    std::vector<float> x(static_cast<std::size_t>(classes), -inf);
    x[1] = 30000.0F;
    x[2] = 29984.0F;
    Tensor logits(DType::kF32, x), y(DType::kF32, classes);
    softmax_forward(test_launch(), DType::kF32, logits.data(), 1, classes, y.data());
    std::vector<double> expected(x.size(), 0.0);
    expected[1] = 1.0 / (1.0 + std::exp(-16.0));
    expected[2] = 1.0 - expected[1];
    expect_near(DType::kF32, expected, y.read(), 1e-6, 1e-12);
  }
}

TEST(Softmax, BackwardEqualsThatOfDoubles) {
  for (const SoftmaxShape& shape : kSoftmaxShapes) {
    on_every_type([&](DType type, int offset) {
      const std::int64_t n = shape.rows * shape.classes;
      const std::vector<double> exact = softmax_of(random_floats(n, 2), shape);
      Tensor y(type, std::vector<float>(exact.begin(), exact.end()), offset);
      Tensor dy(type, random_floats(n, 3), offset), dx(type, n, offset);
      const std::vector<float> p = y.read(), g = dy.read();
      std::vector<double> expected;
      for (std::int64_t row = 0; row < shape.rows; ++row) {
        double dot = 0;
        for (std::int64_t i = row * shape.classes; i < (row + 1) * shape.classes; ++i) dot += at(p, i) * at(g, i);
        for (std::int64_t i = row * shape.classes; i < (row + 1) * shape.classes; ++i)
          expected.push_back(at(p, i) * (at(g, i) - dot));
      }
      softmax_backward(test_launch(), type, y.data(), dy.data(), shape.rows, shape.classes, dx.data());
      expect_near(type, expected, dx.read(), 1e-6, 1e-6);
      softmax_backward(test_launch(), type, y.data(), dy.data(), shape.rows, shape.classes, dy.data());
      expect_near(type, expected, dy.read(), 1e-6, 1e-6);
    });
  }
}

TEST(LogSoftmax, EqualsThatOfDoubles) {
  for (const SoftmaxShape& shape : kSoftmaxShapes) {
    on_every_type([&](DType type, int offset) {
      const std::int64_t n = shape.rows * shape.classes;
      Tensor x(type, random_floats(n, 6, -9.0F, 9.0F), offset), y(type, n, offset);
      std::vector<double> expected = softmax_of(x.read(), shape);
      for (double& value : expected) value = std::log(value);
      log_softmax_forward(test_launch(), type, x.data(), shape.rows, shape.classes, y.data());
      expect_near(type, expected, y.read(), 3e-7, 5e-7);  // two subtractions, and the logarithm of a sum near 1
      log_softmax_forward(test_launch(), type, x.data(), shape.rows, shape.classes, x.data());
      expect_near(type, expected, x.read(), 3e-7, 5e-7);

      Tensor dy(type, random_floats(n, 7), offset), dx(type, n, offset);
      const std::vector<float> at_y = y.read(), g = dy.read();
      std::vector<double> gradient;
      for (std::int64_t row = 0; row < n; row += shape.classes) {
        double sum = 0;
        for (std::int64_t i = row; i < row + shape.classes; ++i) sum += at(g, i);
        for (std::int64_t i = row; i < row + shape.classes; ++i)
          gradient.push_back(at(g, i) - std::exp(at(at_y, i)) * sum);
      }
      log_softmax_backward(test_launch(), type, y.data(), dy.data(), shape.rows, shape.classes, dx.data());
      expect_near(type, gradient, dx.read(), 1e-6, 5e-6);  // of a sum of 300
      log_softmax_backward(test_launch(), type, y.data(), dy.data(), shape.rows, shape.classes, dy.data());
      expect_near(type, gradient, dy.read(), 1e-6, 5e-6);
    });
  }
}

TEST(Softmax, EqualsTheCpu) {
  const SoftmaxShape shape{11, 21};
  const std::vector<float> x = random_floats(shape.rows * shape.classes, 4);
  std::vector<float> expected(x.size());
  cpu::softmax_forward({}, DType::kF32, x.data(), shape.rows, shape.classes, expected.data());
  Tensor y(DType::kF32, x);
  softmax_forward(test_launch(), DType::kF32, y.data(), shape.rows, shape.classes, y.data());
  expect_near(DType::kF32, {expected.begin(), expected.end()}, y.read(), 1e-6, 0.0);
}

TEST(Softmax, SigmoidProbabilities) {
  on_every_type([](DType type, int offset) {
    Tensor x(type, random_floats(333, 5, -120.0F, 120.0F), offset);
    Array<float> y(333, offset);
    sigmoid_probabilities(test_launch(), type, x.data(), 333, y.data());
    std::vector<double> expected;
    for (const float value : x.read()) expected.push_back(1.0 / (1.0 + std::exp(-static_cast<double>(value))));
    expect_near(DType::kF32, expected, y.read(), 1e-6, 1e-37);
  });
}

TEST(Softmax, AcceptsZeroRows) {
  Tensor none(DType::kF32, 0);
  softmax_forward(test_launch(), DType::kF32, none.data(), 0, 5, none.data());
  softmax_backward(test_launch(), DType::kF32, none.data(), none.data(), 0, 5, none.data());
  log_softmax_forward(test_launch(), DType::kF32, none.data(), 0, 5, none.data());
  log_softmax_backward(test_launch(), DType::kF32, none.data(), none.data(), 0, 5, none.data());
  sigmoid_probabilities(test_launch(), DType::kF32, none.data(), 0, nullptr);
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND::test
