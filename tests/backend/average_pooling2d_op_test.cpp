#include "nn/pooling.h"

#include <gtest/gtest.h>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

using nn::AveragePooling2DSpec;
using nn::Padding;

void check_average_pooling2d(const AveragePooling2DSpec& spec, const Shape& in) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {in};
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    const Tensor& x = inputs[0];
    const Size2 strides = spec.strides.value_or(spec.pool_size);
    const auto window = nn::window(in, spec.pool_size, strides, {1, 1}, spec.padding);
    Tensor y({x.dim(0), window.h.out, window.w.out, x.dim(3)});
    for (std::int64_t n = 0; n < y.dim(0); ++n)
      for (std::int64_t oh = 0; oh < y.dim(1); ++oh)
        for (std::int64_t ow = 0; ow < y.dim(2); ++ow)
          for (std::int64_t ch = 0; ch < x.dim(3); ++ch) {
            double sum = 0, count = 0;
            for (std::int64_t k = 0; k < spec.pool_size.h * spec.pool_size.w; ++k) {
              const std::int64_t h = oh * strides.h + k / spec.pool_size.w - window.h.pad_before;
              const std::int64_t w = ow * strides.w + k % spec.pool_size.w - window.w.pad_before;
              if (h < 0 || h >= x.dim(1) || w < 0 || w >= x.dim(2)) continue;
              sum += x(n, h, w, ch);
              count += 1;  // padding is not counted
            }
            y(n, oh, ow, ch) = sum / count;
          }
    return y;
  });
}

TEST(AveragePooling2DOp, OddSizes) { check_average_pooling2d({.pool_size = {2, 2}, .strides = {}}, {7, 5, 3}); }
TEST(AveragePooling2DOp, SameLeavesPaddingOut) {
  check_average_pooling2d({.pool_size = {3, 3}, .strides = Size2{2, 2}, .padding = Padding::kSame}, {9, 8, 5});
}
TEST(AveragePooling2DOp, OverlappingWindows) {
  check_average_pooling2d({.pool_size = {2, 3}, .strides = Size2{1, 2}}, {4, 6, 17});
}

}  // namespace
}  // namespace dptrain::test
