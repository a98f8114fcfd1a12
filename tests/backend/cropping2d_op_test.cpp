#include "nn/resizing.h"

#include <gtest/gtest.h>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

TEST(Cropping2DOp, ReturnsTheInnerPart) {
  for (const nn::Margins2D& s : {nn::Margins2D{1, 2, 0, 3}, nn::Margins2D{0, 0, 0, 0}, nn::Margins2D{2, 0, 1, 1}})
    for (const std::int64_t channels : {5, 8}) {
      Case c;
      c.layer = layer(nn::Cropping2DSpec{.cropping = s});
      c.inputs = {{5, 6, channels}};
      agrees(c, [s](const std::vector<Tensor>& in, const std::vector<Tensor>&) {
        const Tensor& x = in[0];
        Tensor y({x.dim(0), x.dim(1) - s.top - s.bottom, x.dim(2) - s.left - s.right, x.dim(3)});
        for (std::int64_t n = 0; n < y.dim(0); ++n)
          for (std::int64_t h = 0; h < y.dim(1); ++h)
            for (std::int64_t w = 0; w < y.dim(2); ++w)
              for (std::int64_t i = 0; i < y.dim(3); ++i) y(n, h, w, i) = x(n, h + s.top, w + s.left, i);
        return y;
      });
    }
}

}  // namespace
}  // namespace dptrain::test
