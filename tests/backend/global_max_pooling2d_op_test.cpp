#include "nn/pooling.h"

#include <gtest/gtest.h>

#include <limits>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

void check_max(bool keepdims, const Shape& in) {
  Case c;
  c.layer = layer(nn::GlobalMaxPooling2DSpec{.keepdims = keepdims});
  c.inputs = {in};
  agrees(c, [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    const Tensor& x = inputs[0];
    Tensor y({x.dim(0), x.dim(3)}, -std::numeric_limits<double>::infinity());
    for (std::int64_t n = 0; n < x.dim(0); ++n)
      for (std::int64_t h = 0; h < x.dim(1); ++h)
        for (std::int64_t w = 0; w < x.dim(2); ++w)
          for (std::int64_t ch = 0; ch < x.dim(3); ++ch) y(n, ch) = std::max(y(n, ch), x(n, h, w, ch));
    return y;
  });
}

TEST(GlobalMaxPooling2DOp, OddSizes) { check_max(false, {5, 3, 7}); }
TEST(GlobalMaxPooling2DOp, KeepsDims) { check_max(true, {2, 4, 17}); }

}  // namespace
}  // namespace dptrain::test
