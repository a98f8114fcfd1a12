#include "kernels/cuda/lrn.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/lrn.h"
#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND::test {
namespace {

struct LrnShape {
  std::int64_t pixels, channels;
};
// Windows inside, across and beyond the channels; several thread blocks, and windows across their borders.
constexpr std::array kLrnShapes{LrnShape{1, 1}, LrnShape{5, 3}, LrnShape{3, 33}, LrnShape{130, 16}, LrnShape{2, 1500}};
// Around the 1024 elements of a thread block.
constexpr std::array kLrnTiles{LrnShape{341, 3}, LrnShape{256, 4}, LrnShape{205, 5}, LrnShape{683, 3}};
constexpr std::array kLrns{Lrn{2, 1.0F, 1.0F, 0.5F}, Lrn{5, 2.0F, 0.5F, 0.75F}, Lrn{0, 1.0F, 2.0F, 1.0F},
                           Lrn{1, 1.5F, 0.3F, 0.6F}, Lrn{700, 1.0F, 0.01F, 0.75F}};

/// Calls f(i, j) for all neighbours j of element i, including i.
template <class F>
void on_neighbours(const Lrn& lrn, const LrnShape& shape, const F& f) {
  for (std::int64_t i = 0; i < shape.pixels * shape.channels; ++i) {
    const std::int64_t pixel = i / shape.channels * shape.channels;
    for (std::int64_t j = std::max(pixel, i - lrn.radius); j < std::min(pixel + shape.channels, i + lrn.radius + 1);
         ++j)
      f(i, j);
  }
}

std::vector<double> scales(const Lrn& lrn, const LrnShape& shape, const std::vector<float>& x) {
  std::vector<double> scale(x.size(), static_cast<double>(lrn.bias));
  on_neighbours(lrn, shape, [&](std::int64_t i, std::int64_t j) {
    scale[static_cast<std::size_t>(i)] += static_cast<double>(lrn.alpha) * at(x, j) * at(x, j);
  });
  return scale;
}

void on_every_case(const std::function<void(const Lrn&, const LrnShape&, DType, int)>& f) {
  const auto on_every_offset = [&](const Lrn& lrn, const LrnShape& shape) {
    SCOPED_TRACE(std::to_string(shape.pixels) + " x " + std::to_string(shape.channels) + ", radius " +
                 std::to_string(lrn.radius));
    on_every_type([&](DType type, int offset) { f(lrn, shape, type, offset); });
  };
  for (const Lrn& lrn : kLrns)
    for (const LrnShape& shape : kLrnShapes) on_every_offset(lrn, shape);
  for (const LrnShape& shape : kLrnTiles) on_every_offset(kLrns[0], shape);
}

TEST(Lrn, Forward) {
  on_every_case([](const Lrn& lrn, const LrnShape& shape, DType type, int offset) {
    const std::int64_t n = shape.pixels * shape.channels;
    Tensor x(type, random_floats(n, 1), offset), y(type, n, offset);
    const std::vector<float> values = x.read();
    std::vector<double> expected = scales(lrn, shape, values);
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = static_cast<double>(values[i]) * std::pow(expected[i], -static_cast<double>(lrn.beta));
    lrn_forward(test_launch(), type, lrn, x.data(), shape.pixels, shape.channels, y.data());
    expect_near(type, expected, y.read(), 1e-5);  // a window of 1401 squares
  });
}

TEST(Lrn, Backward) {
  on_every_case([](const Lrn& lrn, const LrnShape& shape, DType type, int offset) {
    const std::int64_t n = shape.pixels * shape.channels;
    Tensor x(type, random_floats(n, 2), offset), dy(type, random_floats(n, 3), offset), dx(type, n, offset);
    const std::vector<float> values = x.read(), g = dy.read();
    const std::vector<double> scale = scales(lrn, shape, values);
    const double beta = static_cast<double>(lrn.beta);
    std::vector<double> expected, spread;
    for (std::size_t i = 0; i < scale.size(); ++i) {
      expected.push_back(static_cast<double>(g[i]) * std::pow(scale[i], -beta));
      spread.push_back(static_cast<double>(g[i]) * static_cast<double>(values[i]) * std::pow(scale[i], -beta - 1));
    }
    on_neighbours(lrn, shape, [&](std::int64_t i, std::int64_t j) {
      expected[static_cast<std::size_t>(i)] -=
          2 * static_cast<double>(lrn.alpha) * beta * at(values, i) * spread[static_cast<std::size_t>(j)];
    });
    lrn_backward(test_launch(), type, lrn, x.data(), dy.data(), shape.pixels, shape.channels, dx.data());
    expect_near(type, expected, dx.read(), 1e-5, 5e-6);
  });
}

TEST(Lrn, EqualsTheCpu) {
  const std::int64_t pixels = 7, channels = 21, n = pixels * channels;
  for (const Lrn& lrn : kLrns) {
    const cpu::Lrn there{.radius = lrn.radius, .bias = lrn.bias, .alpha = lrn.alpha, .beta = lrn.beta};
    const std::vector<float> x = random_floats(n, 4), dy = random_floats(n, 5);
    std::vector<float> y(x.size()), dx(x.size());
    std::vector<float> workspace(static_cast<std::size_t>(cpu::lrn_workspace(there, pixels, channels)));
    cpu::lrn_forward(there, x.data(), pixels, channels, workspace.data(), y.data(), nullptr);
    cpu::lrn_backward(there, x.data(), nullptr, dy.data(), pixels, channels, workspace.data(), dx.data());
    Array<float> in(x), gradient(dy), out(n), back(n);
    lrn_forward(test_launch(), DType::kF32, lrn, in.data(), pixels, channels, out.data());
    lrn_backward(test_launch(), DType::kF32, lrn, in.data(), gradient.data(), pixels, channels, back.data());
    expect_near(DType::kF32, {y.begin(), y.end()}, out.read(), 3e-6);
    expect_near(DType::kF32, {dx.begin(), dx.end()}, back.read(), 3e-6, 3e-6);
  }
}

TEST(Lrn, NoPixels) {
  lrn_forward(test_launch(), DType::kBf16, kLrns[0], nullptr, 0, 3, nullptr);
  lrn_backward(test_launch(), DType::kBf16, kLrns[0], nullptr, nullptr, 0, 3, nullptr);
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND::test
