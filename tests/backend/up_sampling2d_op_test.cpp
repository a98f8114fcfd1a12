#include "nn/resizing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

using nn::Interpolation;

/// The value of an axis at position `at` between the centres of its elements, clamped to them.
struct Around {
  std::int64_t low, high;
  double share;
  Around(double at, std::int64_t in) {
    const double inside = std::clamp(at, 0.0, static_cast<double>(in - 1));
    low = static_cast<std::int64_t>(std::floor(inside));
    high = std::min(low + 1, in - 1);
    share = inside - static_cast<double>(low);
  }
};

Tensor naive(const nn::UpSampling2DSpec& s, const Tensor& x) {
  Tensor y({x.dim(0), x.dim(1) * s.size.h, x.dim(2) * s.size.w, x.dim(3)});
  const auto place = [&](std::int64_t o, std::int64_t size) {
    if (s.interpolation == Interpolation::kNearest) return static_cast<double>(o / size);
    return (static_cast<double>(o) + 0.5) / static_cast<double>(size) - 0.5;
  };
  for (std::int64_t n = 0; n < y.dim(0); ++n)
    for (std::int64_t oh = 0; oh < y.dim(1); ++oh)
      for (std::int64_t ow = 0; ow < y.dim(2); ++ow)
        for (std::int64_t c = 0; c < y.dim(3); ++c) {
          const Around h(place(oh, s.size.h), x.dim(1)), w(place(ow, s.size.w), x.dim(2));
          y(n, oh, ow, c) = (1 - h.share) * ((1 - w.share) * x(n, h.low, w.low, c) + w.share * x(n, h.low, w.high, c)) +
                            h.share * ((1 - w.share) * x(n, h.high, w.low, c) + w.share * x(n, h.high, w.high, c));
        }
  return y;
}

TEST(UpSampling2DOp, NearestAndBilinear) {
  for (const Interpolation interpolation : {Interpolation::kNearest, Interpolation::kBilinear})
    for (const Size2 size : {Size2{2, 2}, Size2{3, 1}, Size2{1, 4}})
      for (const Shape& in : {Shape{3, 4, 5}, Shape{1, 2, 16}}) {
        const nn::UpSampling2DSpec spec{.size = size, .interpolation = interpolation};
        Case c;
        c.layer = layer(spec);
        c.inputs = {in};
        agrees(c, [spec](const std::vector<Tensor>& x, const std::vector<Tensor>&) { return naive(spec, x[0]); });
      }
}

}  // namespace
}  // namespace dptrain::test
