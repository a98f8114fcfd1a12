#include "kernels/cuda/affine.h"

#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

struct AffineShape {
  std::int64_t rows, channels;
};

TEST(GpuAffine, ScalesChannelsAndSumsTheirGradients) {
  // Around a tile of 32 channels and 64 rows.
  for (const auto& [rows, channels] : {AffineShape{1, 1}, {63, 31}, {64, 32}, {65, 33}, {129, 65}}) {
    on_every_type([rows = rows, channels = channels](DType type, int offset) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(channels));
      const std::int64_t n = rows * channels;
      Tensor x(type, random_floats(n, 1), offset), dy(type, random_floats(n, 2), offset), y(type, n, offset);
      const Array<float> scale(random_floats(channels, 3), offset);
      Array<float> workspace(channel_scale_workspace(rows, channels)), gradient(channels, offset);
      channel_scale(test_launch(), type, x.data(), scale.data(), rows, channels, y.data());
      channel_scale_gradient(test_launch(), type, x.data(), dy.data(), rows, channels, workspace.data(),
                             gradient.data());
      const std::vector<float> values = x.read(), g = dy.read(), factors = scale.read();
      std::vector<double> expected, sums(static_cast<std::size_t>(channels));
      for (std::int64_t i = 0; i < n; ++i) {
        expected.push_back(at(values, i) * at(factors, i % channels));
        sums[static_cast<std::size_t>(i % channels)] += at(values, i) * at(g, i);
      }
      expect_near(type, expected, y.read());
      expect_near(DType::kF32, sums, gradient.read(), 1e-5, 1e-4);  // of up to 129 products of size up to four
    });
  }
}

TEST(GpuAffine, ShiftsScalesAndMovesChannels) {
  for (const std::int64_t channels : {5, 16}) {
    on_every_type([channels](DType type, int offset) {
      const std::int64_t n = 37 * channels;
      Tensor x(type, random_floats(n, 4), offset), y(type, n, offset);
      const Array<float> shift(random_floats(channels, 5), offset), scale(random_floats(channels, 6), offset),
          to(random_floats(channels, 7), offset);
      channel_affine(test_launch(), type, x.data(), shift.data(), scale.data(), to.data(), n, channels, y.data());
      const std::vector<float> values = x.read(), from = shift.read(), factors = scale.read(), offsets = to.read();
      std::vector<double> expected;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t c = i % channels;
        expected.push_back((at(values, i) - at(from, c)) * at(factors, c) + at(offsets, c));
      }
      expect_near(type, expected, y.read(), 1e-6, 1e-6);
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
