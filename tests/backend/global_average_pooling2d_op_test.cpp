#include "nn/pooling.h"

#include <gtest/gtest.h>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

void check_global_average_pooling2d(bool keepdims, const Shape& in) {
  Case c;
  c.layer = layer(nn::GlobalAveragePooling2DSpec{.keepdims = keepdims});
  c.inputs = {in};
  agrees(c, [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    const Tensor& x = inputs[0];
    Tensor y({x.dim(0), x.dim(3)});
    for (std::int64_t n = 0; n < x.dim(0); ++n)
      for (std::int64_t h = 0; h < x.dim(1); ++h)
        for (std::int64_t w = 0; w < x.dim(2); ++w)
          for (std::int64_t ch = 0; ch < x.dim(3); ++ch)
            y(n, ch) += x(n, h, w, ch) / static_cast<double>(x.dim(1) * x.dim(2));
    return y;
  });
}

TEST(GlobalAveragePooling2DOp, OddSizes) { check_global_average_pooling2d(false, {5, 3, 7}); }
TEST(GlobalAveragePooling2DOp, KeepsDims) { check_global_average_pooling2d(true, {2, 4, 17}); }

}  // namespace
}  // namespace dptrain::test
