#include "nn/convolutions.h"

#include <gtest/gtest.h>

#include "backend/conv_case.h"
#include "backend/fusion_examples.h"
#include "nn/pooling.h"

namespace dptrain::test {
namespace {

using nn::Activation;
using nn::Conv2DSpec;
using nn::Padding;

/// The plain sum in seven loops.
Tensor naive(const Conv2DSpec& s, const Tensor& x, const Tensor& kernel, const Tensor* bias) {
  const Shape sample{x.dim(1), x.dim(2), x.dim(3)};
  const auto window = nn::window(sample, s.kernel_size, s.strides, s.dilation_rate, s.padding);
  const std::int64_t in_group = x.dim(3) / s.groups, out_group = s.filters / s.groups;
  Tensor y({x.dim(0), window.h.out, window.w.out, s.filters});
  for (std::int64_t n = 0; n < y.dim(0); ++n)
    for (std::int64_t oh = 0; oh < y.dim(1); ++oh)
      for (std::int64_t ow = 0; ow < y.dim(2); ++ow)
        for (std::int64_t o = 0; o < s.filters; ++o) {
          double sum = bias == nullptr ? 0.0 : (*bias)(o);
          for (std::int64_t kh = 0; kh < s.kernel_size.h; ++kh)
            for (std::int64_t kw = 0; kw < s.kernel_size.w; ++kw)
              for (std::int64_t i = 0; i < in_group; ++i) {
                const std::int64_t h = oh * s.strides.h + kh * s.dilation_rate.h - window.h.pad_before;
                const std::int64_t w = ow * s.strides.w + kw * s.dilation_rate.w - window.w.pad_before;
                if (h < 0 || h >= x.dim(1) || w < 0 || w >= x.dim(2)) continue;
                sum += x(n, h, w, o / out_group * in_group + i) * kernel(kh, kw, i, o);
              }
          y(n, oh, ow, o) = sum;
        }
  return y;
}

void check_conv2d(const Case& c) {
  const auto spec = c.layer.as<Conv2DSpec>();
  agrees(c, [spec](const std::vector<Tensor>& in, const std::vector<Tensor>& weights) {
    return naive(spec, in[0], weights[0], spec.use_bias ? &weights[1] : nullptr);
  });
}

Conv2DSpec conv(std::int64_t filters, Size2 kernel, Padding padding = Padding::kValid) {
  Conv2DSpec spec;
  spec.filters = filters;
  spec.kernel_size = kernel;
  spec.padding = padding;
  return spec;
}

TEST(Conv2DOp, ValidOddSizes) { check_conv2d(conv_case(conv(5, {3, 3}), {7, 6, 3})); }

TEST(Conv2DOp, OneInputChannel) { check_conv2d(conv_case(conv(8, {3, 3}), {8, 7, 1})); }

/// The CPU's kernels for few input channels; small images verify the gradients by central differences.
TEST(Conv2DOp, FewInputChannels) {
  for (const std::int64_t channels : {1, 3}) {
    Case c = conv_case(conv(5, {3, 5}, Padding::kSame), {5, 6, channels});
    c.tail = tail_of(Activation::kRelu);
    c.undone = true;
    check_conv2d(c);
  }
  Conv2DSpec strided = conv(3, {7, 7}, Padding::kSame);
  strided.strides = {2, 2};
  check_conv2d(conv_case(strided, {7, 8, 3}));
  const auto cpu = backend::make_cpu_device(0, 3, {});
  const std::string text = implementation(*cpu, conv_case(strided, {7, 8, 3}));
  EXPECT_NE(text.find("forward direct 7x7 3ch"), std::string::npos) << text;
  EXPECT_NE(text.find("weights direct 7x7 3ch"), std::string::npos) << text;
}

TEST(Conv2DOp, SameWithStridesPadsUnevenly) {
  Conv2DSpec spec = conv(4, {3, 2}, Padding::kSame);
  spec.strides = {2, 2};
  check_conv2d(conv_case(spec, {8, 7, 5}));
}

TEST(Conv2DOp, Dilated) {
  Conv2DSpec spec = conv(3, {3, 3}, Padding::kSame);
  spec.dilation_rate = {2, 1};
  check_conv2d(conv_case(spec, {9, 6, 4}));
}

TEST(Conv2DOp, Groups) {
  Conv2DSpec spec = conv(6, {3, 3});
  spec.groups = 3;
  check_conv2d(conv_case(spec, {5, 6, 9}));
}

TEST(Conv2DOp, Depthwise) {
  Conv2DSpec spec = conv(8, {3, 3}, Padding::kSame);
  spec.groups = 8;
  check_conv2d(conv_case(spec, {6, 5, 8}));
}

TEST(Conv2DOp, OneByOneWithoutBias) {
  Conv2DSpec spec = conv(7, {1, 1});
  spec.use_bias = false;
  check_conv2d(conv_case(spec, {4, 5, 6}));
}

TEST(Conv2DOp, LargeKernelAndStride) {
  Conv2DSpec spec = conv(3, {5, 7}, Padding::kSame);
  spec.strides = {2, 3};
  check_conv2d(conv_case(spec, {8, 10, 2}));
}

TEST(Conv2DOp, Relu) {
  Case c = conv_case(conv(5, {3, 3}), {6, 7, 3});
  c.tail = tail_of(Activation::kRelu);
  check_conv2d(c);
  c.undone = true;
  check_conv2d(c);
}

Case with_tail(const Conv2DSpec& spec, const Shape& in, std::vector<config::Typed> tail) {
  Case c = conv_case(spec, in);
  c.tail = std::move(tail);
  return c;
}
const FusionExample kConv2DRelu([] { return with_tail(conv(5, {3, 3}), {6, 7, 3}, tail_of(Activation::kRelu)); });
const FusionExample kConv2DTanh([] { return with_tail(conv(5, {3, 3}), {6, 7, 4}, tail_of(Activation::kTanh)); });
/// The CPU pools in the kernels of the first layer; the odd last column is not pooled.
const FusionExample kConv2DPooled([] {
  return with_tail(conv(5, {3, 3}, Padding::kSame), {8, 7, 3}, {layer(nn::MaxPooling2DSpec{})});
});
const FusionExample kConv2DReluPooled([] {
  return with_tail(conv(5, {3, 3}, Padding::kSame), {8, 7, 1},
                   {tail_of(Activation::kRelu).front(), layer(nn::MaxPooling2DSpec{})});
});

TEST(Conv2DOp, OtherActivations) {
  for (const Activation f : {Activation::kTanh, Activation::kLeakyRelu, Activation::kSoftplus, Activation::kHardSigmoid,
                             Activation::kSoftsign}) {
    Case c = conv_case(conv(5, {2, 2}), {4, 5, 3});
    c.tail = tail_of(f);
    check_conv2d(c);
  }
}

/// Channels and sizes for which the CPU chooses Winograd. Differences of 14,000 values would take minutes, so the
/// gradients are compared with the CPU's direct kernels.
TEST(Conv2DOp, WinogradSizes) {
  struct Sizes {
    Size2 kernel;
    Padding padding;
    Shape in;
    std::int64_t filters;
    const char* tile;
  };
  for (const Sizes& sizes : {Sizes{{3, 3}, Padding::kValid, {9, 8, 32}, 32, "F(4x4,3x3)"},
                             Sizes{{3, 3}, Padding::kSame, {9, 8, 32}, 32, "F(4x4,3x3)"},
                             Sizes{{3, 3}, Padding::kSame, {7, 8, 21}, 13, "F(4x4,3x3)"},
                             Sizes{{3, 3}, Padding::kValid, {5, 5, 18}, 17, "F(3x3,3x3)"},
                             Sizes{{5, 5}, Padding::kSame, {8, 7, 16}, 20, "F(4x4,5x5)"},
                             Sizes{{5, 5}, Padding::kSame, {2, 2, 16}, 20, "F(2x2,5x5)"},
                             Sizes{{3, 3}, Padding::kSame, {6, 5, 16}, 18, "F(6x6,3x3)"}}) {
    Case c = conv_case(conv(sizes.filters, sizes.kernel, sizes.padding), sizes.in);
    const std::string text = implementation(*backend::make_cpu_device(0, 1, {}), c);
    for (const char* pass : {"forward winograd ", "; data winograd ", "; weights winograd "})
      EXPECT_NE(text.find(std::string(pass) + sizes.tile), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("; both gradients in one pass")) << text;
    c.differentiable = false;
    c.tail = tail_of(Activation::kRelu);
    c.tolerance = 1e-5;  // Winograd's transforms
    c.same_bits_on_all_threads = true;
    check_conv2d(c);
    c.differentiable = true;
    const auto direct = train(*backend::make_cpu_device(0, 1, {.conv = backend::ConvChoice::kDirect}), c);
    for (const auto& device : devices()) {
      SCOPED_TRACE(device->description());
      const auto chosen = train(*device, c);
      ASSERT_EQ(chosen.size(), 4U);
      for (std::size_t i = 0; i < chosen.size(); ++i)
        expect_close(chosen[i], {direct[i].begin(), direct[i].end()}, c.tolerance, "tensor " + std::to_string(i));
    }
  }
}

TEST(Conv2DOp, DirectIsNeverWinograd) {
  const Case c = conv_case(conv(32, {3, 3}, Padding::kSame), {9, 8, 32});
  for (const int threads : {1, 3}) {
    const auto cpu = backend::make_cpu_device(0, threads, {.conv = backend::ConvChoice::kDirect});
    const std::string text = implementation(*cpu, c);
    EXPECT_EQ(text.find("wino"), std::string::npos) << text;
    for (const char* pass : {"forward dnnl", "; data dnnl", "; weights dnnl"})
      EXPECT_NE(text.find(pass), std::string::npos) << text;
  }
}

/// Without prepare() for its number of rows, a call allocates.
TEST(Conv2DOp, AllocatesForUnpreparedRows) {
  Case c = conv_case(conv(32, {3, 3}, Padding::kSame), {9, 8, 32});
  for (const auto& device : devices()) {
    SCOPED_TRACE(device->description());
    c.prepares_rows = false;
    const auto found = train(*device, c);
    c.prepares_rows = true;
    const auto expected = train(*device, c);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], expected[i]);
  }
}

}  // namespace
}  // namespace dptrain::test
