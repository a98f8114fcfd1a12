#include "kernels/cuda/bias.h"

#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

struct Extents {
  std::int64_t rows, channels;
};
// One and several blocks of rows, channels in whole packs and not, channels beyond one tile; sizes around the tile.
const std::vector<Extents> kBiasShapes{{1, 1},   {3, 5},   {67, 8},  {130, 24}, {65, 300},
                                       {200, 3}, {63, 31}, {64, 32}, {65, 33},  {129, 65}};

TEST(GpuBias, AddsToEveryRow) {
  for (const auto& [rows, channels] : {Extents{3, 5}, {7, 16}, {67, 24}}) {
    on_every_type([rows = rows, channels = channels](DType type, int offset) {
      Tensor x(type, random_floats(rows * channels, 1), offset), y(type, rows * channels, offset);
      const Array<float> bias(random_floats(channels, 2), offset);
      const std::vector<float> values = x.read(), shifts = bias.read();
      std::vector<double> expected;
      for (std::int64_t i = 0; i < rows * channels; ++i) expected.push_back(at(values, i) + at(shifts, i % channels));
      bias_add(test_launch(), type, x.data(), bias.data(), rows, channels, y.data());
      expect_near(type, expected, y.read(), 1e-6, 1e-7);
      bias_add(test_launch(), type, x.data(), bias.data(), rows, channels, x.data());
      EXPECT_EQ(x.read(), y.read());
    });
  }
}

std::vector<double> column_sums_of(const std::vector<float>& dy, std::int64_t channels) {
  std::vector<double> sums(static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < dy.size(); ++i) sums[i % sums.size()] += static_cast<double>(dy[i]);
  return sums;
}

TEST(GpuBias, GradientIsTheSumOverRows) {
  for (const auto& [rows, channels] : kBiasShapes) {
    on_every_type([rows = rows, channels = channels](DType type, int offset) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(channels));
      Tensor dy(type, random_floats(rows * channels, 3), offset);
      Array<float> workspace(bias_gradient_workspace(rows, channels)), gradient(channels, offset), again(channels);
      const std::vector<float> before = dy.read();
      bias_gradient(test_launch(), type, dy.data(), rows, channels, workspace.data(), gradient.data());
      // Sums are always float and not rounded to the type.
      expect_near(DType::kF32, column_sums_of(before, channels), gradient.read(), 1e-5, 1e-4);
      EXPECT_EQ(dy.read(), before);
      bias_gradient(test_launch(7), type, dy.data(), rows, channels, workspace.data(), again.data());
      EXPECT_EQ(again.read(), gradient.read()) << "the sum depends on the device";
    });
  }
}

TEST(GpuBias, GradientOfRowsBeyondTheMinimumPerBlock) {
  if (dptrain::test::kThreadSanitizer)
    GTEST_SKIP() << "a thousand blocks of OS threads take minutes, the other shapes have the barriers";
  const std::int64_t rows = 64 * 1024 + 5;
  const Array<float> dy(random_floats(rows, 6));
  Array<float> workspace(bias_gradient_workspace(rows, 1)), gradient(1);
  EXPECT_LE(workspace.size(), 1024);
  bias_gradient(test_launch(), DType::kF32, dy.data(), rows, 1, workspace.data(), gradient.data());
  expect_near(DType::kF32, column_sums_of(dy.read(), 1), gradient.read(), 1e-5, 1e-3);
}

TEST(GpuBias, GradientAfterAReluMasksInPlace) {
  for (const auto& [rows, channels] : {Extents{3, 5}, {67, 8}, {130, 24}, {65, 300}}) {
    on_every_type([rows = rows, channels = channels](DType type, int offset) {
      const Tensor y(type, random_floats(rows * channels, 4), offset);
      Tensor dy(type, random_floats(rows * channels, 5), offset);
      Array<float> workspace(bias_gradient_workspace(rows, channels)), gradient(channels);
      std::vector<float> expected = dy.read();
      const std::vector<float> gate = y.read();
      for (std::size_t i = 0; i < expected.size(); ++i)
        if (gate[i] <= 0.0F) expected[i] = 0.0F;
      relu_bias_gradient(test_launch(), type, y.data(), dy.data(), rows, channels, workspace.data(), gradient.data());
      EXPECT_EQ(dy.read(), expected);
      expect_near(DType::kF32, column_sums_of(expected, channels), gradient.read(), 1e-5, 1e-5);
    });
  }
}

TEST(GpuBias, GradientOfNoRowsIsZero) {
  Array<float> gradient(5), workspace(1);
  bias_gradient(test_launch(), DType::kF32, nullptr, 0, 5, workspace.data(), gradient.data());
  EXPECT_EQ(gradient.read(), std::vector<float>(5, 0.0F));
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
