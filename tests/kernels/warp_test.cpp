#include "kernels/cpu/warp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::random_floats;
using test::written_floats;

struct Size {
  int64_t height, width, channels;
};

/// Bilinear sample in double. `fill`: kConstant with a value, or kNearest.
double sample(const std::vector<float>& image, const Size& size, double x, double y, int64_t c, const Warp& warp) {
  if (warp.fill == WarpFill::kNearest) {
    x = std::clamp(x, 0.0, static_cast<double>(size.width - 1));
    y = std::clamp(y, 0.0, static_cast<double>(size.height - 1));
  }
  double sum = 0;
  for (int dy = 0; dy < 2; ++dy)
    for (int dx = 0; dx < 2; ++dx) {
      const double px = std::floor(x) + dx, py = std::floor(y) + dy;
      const bool in =
          px >= 0 && py >= 0 && px < static_cast<double>(size.width) && py < static_cast<double>(size.height);
      const double value =
          in ? test::at(image, (static_cast<int64_t>(py) * size.width + static_cast<int64_t>(px)) * size.channels + c)
             : static_cast<double>(warp.fill_value);
      sum += (1 - std::fabs(px - x)) * (1 - std::fabs(py - y)) * value;
    }
  return sum;
}

TEST(Warp, SamplesOnePointPerPixel) {
  const float turn[6] = {0.8F, -0.6F, 4.25F, 0.6F, 0.8F, -3.125F}, shrink[6] = {1.5F, 0, -3.5F, 0, 2.5F, 1.75F},
              keep[6] = {1, 0, 0, 0, 1, 0};
  for (const Size& s : {Size{7, 9, 3}, {12, 5, 1}, {6, 11, 4}, {5, 4, 2}, {1, 1, 3}, {2, 3, 3}}) {
    const int64_t n = s.height * s.width * s.channels;
    std::vector<float> floats = random_floats(n, 4, 0, 255);
    std::vector<uint8_t> bytes(floats.size());
    for (size_t i = 0; i < floats.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(floats[i]);
      floats[i] = bytes[i];
    }
    const std::vector<float> scale = random_floats(s.channels, 5), offset = random_floats(s.channels, 6);
    for (const float* matrix : {turn, shrink, keep})
      for (int mode = 0; mode < 16; ++mode) {
        Warp warp{};
        std::copy_n(matrix, 6, warp.matrix);
        warp.fill = (mode & 1) != 0 ? WarpFill::kNearest : WarpFill::kConstant;
        warp.fill_value = 50;
        warp.mirror_x = (mode & 2) != 0;
        warp.mirror_y = (mode & 4) != 0;
        const PixelMap map{scale.data(), offset.data(), (mode & 8) != 0};
        std::vector<double> expected;
        for (int64_t row = 0; row < s.height; ++row)
          for (int64_t column = 0; column < s.width; ++column)
            for (int64_t c = 0; c < s.channels; ++c) {
              const auto x = static_cast<double>(warp.mirror_x ? s.width - 1 - column : column);
              const auto y = static_cast<double>(warp.mirror_y ? s.height - 1 - row : row);
              const auto m = [&](int i) { return static_cast<double>(matrix[i]); };
              const double value = sample(floats, s, m(0) * x + m(1) * y + m(2), m(3) * x + m(4) * y + m(5),
                                          map.reverse ? s.channels - 1 - c : c, warp);
              expected.push_back(value * test::at(scale, c) + test::at(offset, c));
            }
        // Positions have errors of about 1e-6, times the difference of adjacent pixels and the scale.
        agrees(expected, 1e-5, 5e-3, [&] {
          return written_floats(n, [&](float* out) {
            kernels::cpu::warp(Pixels<uint8_t>{bytes.data(), s.height, s.width, s.channels, s.width * s.channels}, warp,
                               map, out);
          });
        });
        agrees(expected, 1e-5, 5e-3, [&] {
          return written_floats(n, [&](float* out) {
            kernels::cpu::warp(Pixels<float>{floats.data(), s.height, s.width, s.channels, s.width * s.channels}, warp,
                               map, out);
          });
        });
      }
  }
}

TEST(Warp, AcceptsPositionsFarOutside) {
  const std::vector<float> image = random_floats(4 * 4 * 3, 1), one{1, 1, 1}, none{0, 0, 0};
  for (const WarpFill fill : {WarpFill::kReflect, WarpFill::kWrap, WarpFill::kConstant, WarpFill::kNearest})
    for (const float factor : {1e4F, 1e30F, -1e30F}) {
      Warp warp{};
      for (float& m : warp.matrix) m = factor;
      warp.fill = fill;
      warp.fill_value = 3;
      const PixelMap map{one.data(), none.data(), false};
      test::on_every_target([&] {
        const std::vector<float> out = written_floats(48, [&](float* to) {
          kernels::cpu::warp(Pixels<float>{image.data(), 4, 4, 3, 12}, warp, map, to);
        });
        for (const float value : out) EXPECT_TRUE(std::isfinite(value));
      });
    }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
