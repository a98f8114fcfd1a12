#include "kernels/cpu/upsample.h"

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

/// Weight of each input in each output, from the outputs' centres.
double part(const UpsampleAxis& axis, int64_t i, int64_t o) {
  const double centre = (static_cast<double>(o) + 0.5) * static_cast<double>(axis.in) / static_cast<double>(axis.out);
  if (!axis.bilinear) return std::floor(centre) == static_cast<double>(i) ? 1 : 0;
  const double inside = std::min(std::max(centre - 0.5, 0.0), static_cast<double>(axis.in - 1));
  return std::max(0.0, 1 - std::abs(inside - static_cast<double>(i)));
}

/// Products beyond 32 bits, up to the supported maximum.
TEST(UpsampleAxis, ComputesPositionsOnLongAxes) {
  for (const bool bilinear : {false, true})
    for (const UpsampleAxis& axis :
         {UpsampleAxis{3, 7, bilinear}, UpsampleAxis{100000, 150000, bilinear}, UpsampleAxis{90001, 30000, bilinear},
          UpsampleAxis{32766, 32766, bilinear}, UpsampleAxis{1, 536870910, bilinear},
          UpsampleAxis{65536, 32768, bilinear}, UpsampleAxis{46341, 46340, bilinear}})
      for (int64_t n = 0; n < 1000; ++n) {
        const int64_t o = n * axis.out / 1000, i = n * axis.in / 1000;
        const UpsampleAxis::Place found = axis.place(o);
        ASSERT_NEAR(1.0 - found.share, part(axis, found.low, o) - (found.low == found.high ? found.share : 0), 1e-6)
            << axis.in << " to " << axis.out << ", output " << o;
        for (const int64_t edge : {axis.begin(i), axis.end(i)})
          for (int64_t at = std::max<int64_t>(edge - 2, 0); at < std::min(edge + 2, axis.out); ++at)
            ASSERT_NEAR(at >= axis.begin(i) && at < axis.end(i) ? axis.part(i, at) : 0.0, part(axis, i, at), 2e-6)
                << axis.in << " to " << axis.out << ", input " << i << ", output " << at;
        if (!fits_32_bits({axis.in, axis.in, 1, axis.out, axis.out, bilinear})) continue;
        const UpsampleAxisOf<int32_t> narrow{static_cast<int32_t>(axis.in), static_cast<int32_t>(axis.out), bilinear};
        const auto in_32 = narrow.place(static_cast<int32_t>(o));
        ASSERT_EQ(in_32.low, found.low);
        ASSERT_EQ(in_32.high, found.high);
        ASSERT_EQ(in_32.share, found.share);
        ASSERT_EQ(narrow.begin(static_cast<int32_t>(i)), axis.begin(i));
        ASSERT_EQ(narrow.end(static_cast<int32_t>(i)), axis.end(i));
      }
}

TEST(UpsampleKernel, EqualsTheNaiveSums) {
  const int64_t rows = 2;
  for (const UpsampleShape& s : {UpsampleShape{3, 5, 37, 6, 10, true}, UpsampleShape{1, 4, 3, 5, 12, true},
                                 UpsampleShape{4, 1, 16, 4, 4, true}, UpsampleShape{3, 4, 5, 6, 12, false},
                                 UpsampleShape{7, 5, 3, 4, 8, true}, UpsampleShape{3, 9, 5, 7, 4, false}}) {
    const int64_t in_pixels = s.in_h * s.in_w, out_w = s.out_w, out_pixels = s.out_h * out_w;
    const auto x = random_floats(rows * in_pixels * s.channels, 1),
               dy = random_floats(rows * out_pixels * s.channels, 2);
    std::vector<double> y(dy.size()), dx(x.size());
    for (int64_t o = 0; o < out_pixels; ++o)
      for (int64_t i = 0; i < in_pixels; ++i) {
        const double share = part({s.in_h, s.out_h, s.bilinear}, i / s.in_w, o / out_w) *
                             part({s.in_w, s.out_w, s.bilinear}, i % s.in_w, o % out_w);
        for (int64_t n = 0; n < rows; ++n)
          for (int64_t c = 0; c < s.channels; ++c) {
            const auto from = static_cast<size_t>((n * in_pixels + i) * s.channels + c);
            const auto to = static_cast<size_t>((n * out_pixels + o) * s.channels + c);
            y[to] += share * static_cast<double>(x[from]);
            dx[from] += share * static_cast<double>(dy[to]);
          }
      }
    const auto forward = [&] {
      return written_floats(static_cast<int64_t>(y.size()),
                            [&](float* to) { upsample_forward({}, DType::kF32, s, x.data(), rows, to); });
    };
    const auto backward = [&] {
      return written_floats(static_cast<int64_t>(dx.size()),
                            [&](float* to) { upsample_backward({}, DType::kF32, s, dy.data(), rows, to); });
    };
    on_every_target([&] {
      use_threads(1);
      const auto found = forward(), found_dx = backward();
      expect_near(y, found, 1e-6, 1e-6);
      expect_near(dx, found_dx, 1e-6, 5e-6);  // sums of up to 50 terms
      use_threads(3);
      EXPECT_EQ(found, forward());
      EXPECT_EQ(found_dx, backward());
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
