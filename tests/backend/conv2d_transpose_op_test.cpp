#include "nn/convolutions.h"

#include <gtest/gtest.h>

#include "backend/conv_case.h"
#include "backend/fusion_examples.h"

namespace dptrain::test {
namespace {

using nn::Activation;
using nn::Conv2DTransposeSpec;
using nn::Padding;

/// Adds each input times the window to the output, then crops Keras's padding; kernel [kh, kw, filters, in].
Tensor naive(const Conv2DTransposeSpec& s, const Tensor& x, const Tensor& kernel, const Tensor* bias) {
  const Size2 out = nn::transposed_extents(s, {x.dim(1), x.dim(2), x.dim(3)});
  const auto cut = [&](std::int64_t in, std::int64_t extent, std::int64_t k, std::int64_t stride,
                       std::int64_t dilation) {
    const std::int64_t reach = (in - 1) * stride + (k - 1) * dilation + 1;
    return s.padding == Padding::kSame ? std::max<std::int64_t>(reach - extent, 0) / 2 : 0;
  };
  const std::int64_t top = cut(x.dim(1), out.h, s.kernel_size.h, s.strides.h, s.dilation_rate.h);
  const std::int64_t left = cut(x.dim(2), out.w, s.kernel_size.w, s.strides.w, s.dilation_rate.w);
  Tensor y({x.dim(0), out.h, out.w, s.filters});
  for (std::size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = bias == nullptr ? 0 : bias->values[i % bias->values.size()];
  for (std::int64_t n = 0; n < x.dim(0); ++n)
    for (std::int64_t h = 0; h < x.dim(1); ++h)
      for (std::int64_t w = 0; w < x.dim(2); ++w)
        for (std::int64_t kh = 0; kh < s.kernel_size.h; ++kh)
          for (std::int64_t kw = 0; kw < s.kernel_size.w; ++kw) {
            const std::int64_t oh = h * s.strides.h + kh * s.dilation_rate.h - top;
            const std::int64_t ow = w * s.strides.w + kw * s.dilation_rate.w - left;
            if (oh < 0 || oh >= out.h || ow < 0 || ow >= out.w) continue;
            for (std::int64_t o = 0; o < s.filters; ++o)
              for (std::int64_t i = 0; i < x.dim(3); ++i) y(n, oh, ow, o) += x(n, h, w, i) * kernel(kh, kw, o, i);
          }
  return y;
}

Conv2DTransposeSpec transpose(std::int64_t filters, Size2 kernel, Size2 strides, Padding padding) {
  return conv_spec<Conv2DTransposeSpec>(filters, kernel, strides, padding);
}

void check_transpose(const Case& c) {
  const auto spec = c.layer.as<Conv2DTransposeSpec>();
  agrees(c, [spec](const std::vector<Tensor>& in, const std::vector<Tensor>& weights) {
    return naive(spec, in[0], weights[0], spec.use_bias ? &weights[1] : nullptr);
  });
}

TEST(Conv2DTransposeOp, ValidOddSizes) {
  check_transpose(conv_case(transpose(5, {3, 3}, {1, 1}, Padding::kValid), {4, 5, 3}));
}

TEST(Conv2DTransposeOp, StridesEnlarge) {
  check_transpose(conv_case(transpose(4, {3, 3}, {2, 2}, Padding::kSame), {4, 3, 5}));
  check_transpose(conv_case(transpose(3, {4, 2}, {2, 3}, Padding::kValid), {3, 4, 2}));
  check_transpose(conv_case(transpose(8, {2, 2}, {2, 2}, Padding::kSame), {3, 3, 16}));
}

TEST(Conv2DTransposeOp, OutputPadding) {
  Conv2DTransposeSpec spec = transpose(3, {3, 3}, {2, 2}, Padding::kSame);
  for (const Size2 extra : {Size2{0, 1}, Size2{1, 0}}) {
    spec.output_padding = extra;
    check_transpose(conv_case(spec, {3, 4, 2}));
  }
  spec.padding = Padding::kValid;
  check_transpose(conv_case(spec, {3, 4, 2}));
}

TEST(Conv2DTransposeOp, DilatedWithoutBias) {
  Conv2DTransposeSpec spec = transpose(3, {3, 3}, {1, 1}, Padding::kValid);
  spec.dilation_rate = {2, 2};
  spec.use_bias = false;
  check_transpose(conv_case(spec, {3, 4, 4}));
}

const FusionExample kTransposeActivation([] {
  Case c = conv_case(transpose(4, {3, 3}, {2, 2}, Padding::kSame), {3, 4, 3});
  c.tail = tail_of(Activation::kRelu);
  return c;
});

TEST(Conv2DTransposeOp, Activations) {
  for (const Activation f : {Activation::kRelu, Activation::kTanh}) {
    Case c = conv_case(transpose(4, {3, 3}, {2, 2}, Padding::kSame), {3, 4, 3});
    c.tail = tail_of(f);
    check_transpose(c);
  }
}

/// Stride 1 uses Winograd unless disabled; both results agree.
TEST(Conv2DTransposeOp, WinogradSizes) {
  const Case c = conv_case(transpose(32, {3, 3}, {1, 1}, Padding::kSame), {9, 8, 32});
  for (const int threads : {1, 3}) {
    const auto direct = backend::make_cpu_device(0, threads, {.conv = backend::ConvChoice::kDirect});
    const auto free = backend::make_cpu_device(0, threads, {});
    const std::string text = implementation(*free, c), direct_text = implementation(*direct, c);
    for (const char* pass : {"forward winograd", "; data winograd", "; weights winograd"})
      EXPECT_NE(text.find(pass), std::string::npos) << text;
    EXPECT_EQ(direct_text.find("winograd"), std::string::npos) << direct_text;
    const auto expected = train(*direct, c), found = train(*free, c);
    for (std::size_t i = 0; i < found.size(); ++i)
      expect_close(found[i], {expected[i].begin(), expected[i].end()}, 1e-5, "tensor " + std::to_string(i));
  }
}

}  // namespace
}  // namespace dptrain::test
