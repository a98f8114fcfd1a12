#include "nn/resizing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

using nn::Interpolation;

/// Weight of input i in output o, in double, from the centres.
double resized_part(const nn::ResizingSpec& s, std::int64_t i, std::int64_t o, std::int64_t in, std::int64_t out) {
  const double centre = (static_cast<double>(o) + 0.5) * static_cast<double>(in) / static_cast<double>(out);
  if (s.interpolation == Interpolation::kNearest) return std::floor(centre) == static_cast<double>(i) ? 1 : 0;
  const double at = std::clamp(centre - 0.5, 0.0, static_cast<double>(in - 1));
  return std::max(0.0, 1 - std::abs(at - static_cast<double>(i)));
}

Tensor resized(const nn::ResizingSpec& s, const Tensor& x) {
  Tensor y({x.dim(0), s.height, s.width, x.dim(3)});
  for (std::int64_t n = 0; n < y.dim(0); ++n)
    for (std::int64_t oh = 0; oh < y.dim(1); ++oh)
      for (std::int64_t ow = 0; ow < y.dim(2); ++ow)
        for (std::int64_t h = 0; h < x.dim(1); ++h)
          for (std::int64_t w = 0; w < x.dim(2); ++w) {
            const double part = resized_part(s, h, oh, x.dim(1), s.height) * resized_part(s, w, ow, x.dim(2), s.width);
            for (std::int64_t c = 0; c < y.dim(3); ++c) y(n, oh, ow, c) += part * x(n, h, w, c);
          }
  return y;
}

TEST(ResizingOp, NearestAndBilinear) {
  for (const Interpolation interpolation : {Interpolation::kNearest, Interpolation::kBilinear})
    for (const Size2 size : {Size2{7, 4}, Size2{2, 9}, Size2{1, 1}})
      for (const Shape& in : {Shape{3, 5, 5}, Shape{4, 6, 16}}) {
        const nn::ResizingSpec spec{.height = size.h, .width = size.w, .interpolation = interpolation};
        Case c;
        c.layer = layer(spec);
        c.inputs = {in};
        agrees(c, [spec](const std::vector<Tensor>& x, const std::vector<Tensor>&) { return resized(spec, x[0]); });
      }
}

}  // namespace
}  // namespace dptrain::test
