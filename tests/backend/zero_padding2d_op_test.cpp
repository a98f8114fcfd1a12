#include "nn/resizing.h"

#include <gtest/gtest.h>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

void check_zero_padding2d(const nn::Margins2D& sides, const Shape& in) {
  Case c;
  c.layer = layer(nn::ZeroPadding2DSpec{.padding = sides});
  c.inputs = {in};
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    const Tensor& x = inputs[0];
    Tensor y({x.dim(0), x.dim(1) + sides.top + sides.bottom, x.dim(2) + sides.left + sides.right, x.dim(3)});
    for (std::int64_t n = 0; n < x.dim(0); ++n)
      for (std::int64_t h = 0; h < x.dim(1); ++h)
        for (std::int64_t w = 0; w < x.dim(2); ++w)
          for (std::int64_t ch = 0; ch < x.dim(3); ++ch) y(n, h + sides.top, w + sides.left, ch) = x(n, h, w, ch);
    return y;
  });
}

TEST(ZeroPadding2DOp, EachSide) { check_zero_padding2d({.top = 1, .bottom = 2, .left = 3, .right = 0}, {4, 3, 5}); }
TEST(ZeroPadding2DOp, None) { check_zero_padding2d({.top = 0, .bottom = 0, .left = 0, .right = 0}, {3, 3, 2}); }

}  // namespace
}  // namespace dptrain::test
