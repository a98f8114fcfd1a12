#include "kernels/cuda/upsample.h"

#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

/// Weight of each input in each output, from the outputs' centres.
double part(const UpsampleAxis& axis, std::int64_t i, std::int64_t o) {
  const double centre = (static_cast<double>(o) + 0.5) * static_cast<double>(axis.in) / static_cast<double>(axis.out);
  if (!axis.bilinear) return std::floor(centre) == static_cast<double>(i) ? 1 : 0;
  const double inside = std::min(std::max(centre - 0.5, 0.0), static_cast<double>(axis.in - 1));
  return std::max(0.0, 1 - std::abs(inside - static_cast<double>(i)));
}

TEST(GpuUpsample, EqualsTheNaiveSums) {
  const std::int64_t rows = 2;
  for (const UpsampleShape& s :
       {UpsampleShape{3, 5, 16, 6, 10, true}, UpsampleShape{1, 4, 3, 5, 12, true}, UpsampleShape{3, 4, 8, 6, 12, false},
        UpsampleShape{7, 5, 3, 4, 8, true}, UpsampleShape{3, 9, 8, 7, 4, false}})
    on_every_type([&](DType type, int offset) {
      const std::int64_t in_pixels = s.in_h * s.in_w, out_w = s.out_w, out_pixels = s.out_h * out_w;
      const std::int64_t in = rows * in_pixels * s.channels, out = rows * out_pixels * s.channels;
      const Tensor x(type, random_floats(in, 1), offset), dy(type, random_floats(out, 2), offset);
      Tensor y(type, out, offset), dx(type, in, offset);
      upsample_forward(test_launch(), type, s, x.data(), rows, y.data());
      upsample_backward(test_launch(), type, s, dy.data(), rows, dx.data());

      const auto from = x.read(), g = dy.read();
      std::vector<double> sums(static_cast<std::size_t>(out)), gradient(static_cast<std::size_t>(in));
      for (std::int64_t o = 0; o < out_pixels; ++o)
        for (std::int64_t i = 0; i < in_pixels; ++i) {
          const double share = part({s.in_h, s.out_h, s.bilinear}, i / s.in_w, o / out_w) *
                               part({s.in_w, s.out_w, s.bilinear}, i % s.in_w, o % out_w);
          for (std::int64_t n = 0; n < rows; ++n)
            for (std::int64_t c = 0; c < s.channels; ++c) {
              const std::int64_t a = (n * in_pixels + i) * s.channels + c, b = (n * out_pixels + o) * s.channels + c;
              sums[static_cast<std::size_t>(b)] += share * at(from, a);
              gradient[static_cast<std::size_t>(a)] += share * at(g, b);
            }
        }
      expect_near(type, sums, y.read(), 1e-6, 1e-6);
      expect_near(type, gradient, dx.read(), 1e-6, 5e-6);
    });
}

/// Products exceed 32 bits.
TEST(GpuUpsample, LongAxes) {
  for (const bool bilinear : {false, true}) {
    const UpsampleShape s{1, 30000, 1, 1, 36000, bilinear};
    ASSERT_FALSE(fits_32_bits(s));
    const Tensor x(DType::kF32, random_floats(s.in_w, 1), 0), dy(DType::kF32, random_floats(s.out_w, 2), 0);
    Tensor y(DType::kF32, s.out_w, 0), dx(DType::kF32, s.in_w, 0);
    upsample_forward(test_launch(), DType::kF32, s, x.data(), 1, y.data());
    upsample_backward(test_launch(), DType::kF32, s, dy.data(), 1, dx.data());

    const auto from = x.read(), g = dy.read();
    std::vector<double> values(static_cast<std::size_t>(s.out_w)), gradient(static_cast<std::size_t>(s.in_w));
    for (std::int64_t o = 0; o < s.out_w; ++o) {
      const std::int64_t near = o * s.in_w / s.out_w;
      for (std::int64_t i = std::max<std::int64_t>(near - 2, 0); i < std::min(near + 3, s.in_w); ++i) {
        const double share = part({s.in_w, s.out_w, bilinear}, i, o);
        values[static_cast<std::size_t>(o)] += share * at(from, i);
        gradient[static_cast<std::size_t>(i)] += share * at(g, o);
      }
    }
    expect_near(DType::kF32, values, y.read(), 1e-6, 1e-6);
    expect_near(DType::kF32, gradient, dx.read(), 1e-6, 5e-6);
  }
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
