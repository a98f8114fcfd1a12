#include "nn/pooling.h"

#include <gtest/gtest.h>

#include <limits>

#include "backend/fusion_examples.h"
#include "core/error.h"

namespace dptrain::test {
namespace {

using nn::MaxPooling2DSpec;
using nn::Padding;

void check_max_pooling2d(const MaxPooling2DSpec& spec, const Shape& in, bool undoes_relu = false) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {in};
  if (undoes_relu) c.undoes = tail_of(nn::Activation::kRelu).front();
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    const Tensor& x = inputs[0];
    const Size2 strides = spec.strides.value_or(spec.pool_size);
    const auto window = nn::window(in, spec.pool_size, strides, {1, 1}, spec.padding);
    Tensor y({x.dim(0), window.h.out, window.w.out, x.dim(3)}, -std::numeric_limits<double>::infinity());
    for (std::int64_t n = 0; n < y.dim(0); ++n)
      for (std::int64_t oh = 0; oh < y.dim(1); ++oh)
        for (std::int64_t ow = 0; ow < y.dim(2); ++ow)
          for (std::int64_t k = 0; k < spec.pool_size.h * spec.pool_size.w; ++k) {
            const std::int64_t h = oh * strides.h + k / spec.pool_size.w - window.h.pad_before;
            const std::int64_t w = ow * strides.w + k % spec.pool_size.w - window.w.pad_before;
            if (h < 0 || h >= x.dim(1) || w < 0 || w >= x.dim(2)) continue;
            for (std::int64_t ch = 0; ch < x.dim(3); ++ch)
              y(n, oh, ow, ch) = std::max(y(n, oh, ow, ch), x(n, h, w, ch));
          }
    return y;
  });
}

TEST(MaxPooling2DOp, OddSizesDropTheLastRowAndColumn) {
  check_max_pooling2d({.pool_size = {2, 2}, .strides = {}}, {7, 5, 3});
}
TEST(MaxPooling2DOp, SameWithStrides) {
  check_max_pooling2d({.pool_size = {3, 3}, .strides = Size2{2, 2}, .padding = Padding::kSame}, {9, 8, 5});
}
TEST(MaxPooling2DOp, OverlappingWindows) {
  check_max_pooling2d({.pool_size = {3, 2}, .strides = Size2{1, 1}}, {4, 5, 17});
}
TEST(MaxPooling2DOp, Gaps) { check_max_pooling2d({.pool_size = {2, 2}, .strides = Size2{3, 3}}, {8, 9, 4}); }
TEST(MaxPooling2DOp, FoldsTheReluMask) {
  check_max_pooling2d({.pool_size = {2, 2}, .strides = {}}, {6, 7, 5}, true);
  check_max_pooling2d({.pool_size = {3, 3}, .strides = Size2{2, 2}, .padding = Padding::kSame}, {7, 6, 3}, true);
}

const FusionExample kMaxPooling2DUndoesRelu([] {
  Case c;
  c.layer = layer(MaxPooling2DSpec{.pool_size = {2, 2}, .strides = {}});
  c.inputs = {{6, 7, 5}};
  c.undoes = tail_of(nn::Activation::kRelu).front();
  return c;
});

TEST(MaxPooling2DOp, RejectsWindowsBeyondAByte) {
  Case c;
  c.layer = layer(MaxPooling2DSpec{.pool_size = {16, 16}, .strides = {}});
  c.inputs = {{16, 16, 1}};
  for (const auto& device : devices()) EXPECT_THROW(implementation(*device, c), Error) << device->name();
}

}  // namespace
}  // namespace dptrain::test
