#include "nn/convolutions.h"

#include <gtest/gtest.h>

#include "backend/conv_case.h"
#include "backend/fusion_examples.h"
#include "support/output_shape.h"

namespace dptrain::test {
namespace {

using nn::Activation;
using nn::Conv3DTransposeSpec;
using nn::Padding;
using nn::Size3;

/// Adds each input times the window to the output, then crops Keras's padding; kernel [kd, kh, kw, filters, in].
Tensor naive_transpose3d(const Conv3DTransposeSpec& s, const Shape& out, const Tensor& x, const Tensor& kernel,
                         const Tensor* bias) {
  const auto cut = [&](std::int64_t in, std::int64_t extent, std::int64_t Size3::*side) {
    const std::int64_t reach = (in - 1) * (s.strides.*side) + (s.kernel_size.*side - 1) * (s.dilation_rate.*side) + 1;
    return s.padding == Padding::kSame ? std::max<std::int64_t>(reach - extent, 0) / 2 : 0;
  };
  const std::int64_t front = cut(x.dim(1), out[0], &Size3::d), top = cut(x.dim(2), out[1], &Size3::h),
                     left = cut(x.dim(3), out[2], &Size3::w);
  Tensor y({x.dim(0), out[0], out[1], out[2], s.filters});
  for (std::size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = bias == nullptr ? 0 : bias->values[i % bias->values.size()];
  const std::int64_t places = x.dim(1) * x.dim(2) * x.dim(3),
                     taps = s.kernel_size.d * s.kernel_size.h * s.kernel_size.w;
  for (std::int64_t n = 0; n < x.dim(0); ++n)
    for (std::int64_t p = 0; p < places; ++p)
      for (std::int64_t k = 0; k < taps; ++k) {
        const std::int64_t d = p / (x.dim(2) * x.dim(3)), h = p / x.dim(3) % x.dim(2), w = p % x.dim(3);
        const std::int64_t kd = k / (s.kernel_size.h * s.kernel_size.w), kh = k / s.kernel_size.w % s.kernel_size.h,
                           kw = k % s.kernel_size.w;
        const std::int64_t od = d * s.strides.d + kd * s.dilation_rate.d - front,
                           oh = h * s.strides.h + kh * s.dilation_rate.h - top,
                           ow = w * s.strides.w + kw * s.dilation_rate.w - left;
        if (od < 0 || od >= out[0] || oh < 0 || oh >= out[1] || ow < 0 || ow >= out[2]) continue;
        for (std::int64_t o = 0; o < s.filters; ++o)
          for (std::int64_t i = 0; i < x.dim(4); ++i)
            y(n, od, oh, ow, o) += x(n, d, h, w, i) * kernel(kd, kh, kw, o, i);
      }
  return y;
}

Conv3DTransposeSpec transpose3d(std::int64_t filters, Size3 kernel, Size3 strides, Padding padding) {
  return conv_spec<Conv3DTransposeSpec>(filters, kernel, strides, padding);
}

void check_transpose3d(const Case& c) {
  const auto spec = c.layer.as<Conv3DTransposeSpec>();
  const Shape out = output_shape(c.layer, c.inputs);
  agrees(c, [spec, out](const std::vector<Tensor>& in, const std::vector<Tensor>& weights) {
    return naive_transpose3d(spec, out, in[0], weights[0], spec.use_bias ? &weights[1] : nullptr);
  });
}

TEST(Conv3DTransposeOp, ValidOddSizes) {
  check_transpose3d(conv_case(transpose3d(3, {3, 2, 3}, {}, Padding::kValid), {3, 3, 2, 4}));
}

TEST(Conv3DTransposeOp, StridesEnlarge) {
  check_transpose3d(conv_case(transpose3d(2, {3, 3, 3}, {2, 2, 2}, Padding::kSame), {2, 3, 2, 3}));
  check_transpose3d(conv_case(transpose3d(3, {2, 4, 2}, {3, 2, 3}, Padding::kValid), {2, 2, 2, 2}));
}

TEST(Conv3DTransposeOp, OutputPadding) {
  Conv3DTransposeSpec spec = transpose3d(2, {3, 3, 3}, {2, 2, 2}, Padding::kSame);
  for (const Size3 extra : {Size3{1, 0, 1}, Size3{0, 1, 0}}) {
    spec.output_padding = extra;
    check_transpose3d(conv_case(spec, {2, 2, 3, 2}));
  }
  spec.padding = Padding::kValid;
  check_transpose3d(conv_case(spec, {2, 2, 3, 2}));
}

/// The slabs are the output without copies.
TEST(Conv3DTransposeOp, PerFrame) {
  check_transpose3d(conv_case(transpose3d(3, {1, 2, 2}, {1, 2, 2}, Padding::kSame), {2, 3, 2, 4}));
}

TEST(Conv3DTransposeOp, DilatedWithoutBias) {
  Conv3DTransposeSpec spec = transpose3d(3, {3, 2, 2}, {}, Padding::kValid);
  spec.dilation_rate = {2, 1, 2};
  spec.use_bias = false;
  check_transpose3d(conv_case(spec, {3, 2, 3, 2}));
}

const FusionExample kTranspose3DActivation([] {
  Case c = conv_case(transpose3d(4, {3, 3, 3}, {2, 2, 2}, Padding::kSame), {2, 2, 3, 3});
  c.tail = tail_of(Activation::kRelu);
  return c;
});

TEST(Conv3DTransposeOp, Activations) {
  for (const Activation f : {Activation::kRelu, Activation::kTanh}) {
    Case c = conv_case(transpose3d(4, {2, 3, 3}, {2, 1, 2}, Padding::kSame), {2, 2, 3, 3});
    c.tail = tail_of(f);
    check_transpose3d(c);
  }
}

}  // namespace
}  // namespace dptrain::test
