#include "nn/convolutions.h"

#include <gtest/gtest.h>

#include "backend/conv_case.h"
#include "backend/fusion_examples.h"
#include "nn/pooling.h"

namespace dptrain::test {
namespace {

using nn::Activation;
using nn::Conv3DSpec;
using nn::Padding;
using nn::Size3;

Tensor naive_conv3d(const Conv3DSpec& s, const Tensor& x, const Tensor& kernel, const Tensor* bias) {
  const auto axis = [&](std::size_t i, std::int64_t Size3::*side) {
    return nn::window_axis(x.dim(i), s.kernel_size.*side, s.strides.*side, s.dilation_rate.*side, s.padding);
  };
  const nn::WindowAxis d = axis(1, &Size3::d), h = axis(2, &Size3::h), w = axis(3, &Size3::w);
  const std::int64_t filters = s.filters / s.groups, channels = x.dim(4) / s.groups;
  Tensor y({x.dim(0), d.out, h.out, w.out, s.filters});
  for (std::size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = bias == nullptr ? 0 : bias->values[i % bias->values.size()];
  for (std::int64_t n = 0; n < x.dim(0); ++n)
    for (std::int64_t od = 0; od < d.out; ++od)
      for (std::int64_t oh = 0; oh < h.out; ++oh)
        for (std::int64_t ow = 0; ow < w.out; ++ow)
          for (std::int64_t k = 0; k < s.kernel_size.d * s.kernel_size.h * s.kernel_size.w; ++k) {
            const std::int64_t kd = k / (s.kernel_size.h * s.kernel_size.w), kh = k / s.kernel_size.w % s.kernel_size.h,
                               kw = k % s.kernel_size.w;
            const std::int64_t id = od * s.strides.d + kd * s.dilation_rate.d - d.pad_before,
                               ih = oh * s.strides.h + kh * s.dilation_rate.h - h.pad_before,
                               iw = ow * s.strides.w + kw * s.dilation_rate.w - w.pad_before;
            if (id < 0 || id >= x.dim(1) || ih < 0 || ih >= x.dim(2) || iw < 0 || iw >= x.dim(3)) continue;
            for (std::int64_t o = 0; o < s.filters; ++o)
              for (std::int64_t c = 0; c < channels; ++c)
                y(n, od, oh, ow, o) += x(n, id, ih, iw, o / filters * channels + c) * kernel(kd, kh, kw, c, o);
          }
  return y;
}

Conv3DSpec conv3d(std::int64_t filters, Size3 kernel, Size3 strides, Padding padding) {
  return conv_spec<Conv3DSpec>(filters, kernel, strides, padding);
}

void check_conv3d(const Case& c) {
  const auto spec = c.layer.as<Conv3DSpec>();
  agrees(c, [spec](const std::vector<Tensor>& in, const std::vector<Tensor>& weights) {
    return naive_conv3d(spec, in[0], weights[0], spec.use_bias ? &weights[1] : nullptr);
  });
}

TEST(Conv3DOp, ValidOddSizes) { check_conv3d(conv_case(conv3d(5, {3, 2, 3}, {}, Padding::kValid), {4, 4, 5, 3})); }
TEST(Conv3DOp, Same) { check_conv3d(conv_case(conv3d(4, {3, 3, 3}, {}, Padding::kSame), {3, 4, 4, 2})); }
TEST(Conv3DOp, Strides) {
  check_conv3d(conv_case(conv3d(3, {3, 2, 3}, {2, 1, 2}, Padding::kSame), {4, 3, 5, 4}));
  check_conv3d(conv_case(conv3d(3, {2, 1, 2}, {3, 2, 1}, Padding::kValid), {6, 4, 3, 2}));
}

/// Frames outside all windows have a zero gradient.
TEST(Conv3DOp, GapsInDepth) { check_conv3d(conv_case(conv3d(3, {1, 2, 2}, {3, 1, 1}, Padding::kValid), {5, 3, 3, 2})); }

/// With depth 1 and stride 1 in time, the images are the frames.
TEST(Conv3DOp, PerFrame) { check_conv3d(conv_case(conv3d(4, {1, 3, 3}, {1, 2, 2}, Padding::kSame), {3, 5, 4, 3})); }

TEST(Conv3DOp, GroupsWithoutBias) {
  Conv3DSpec spec = conv3d(6, {3, 2, 1}, {}, Padding::kSame);
  spec.groups = 2;
  spec.use_bias = false;
  check_conv3d(conv_case(spec, {3, 4, 2, 4}));
}

TEST(Conv3DOp, Dilated) {
  Conv3DSpec spec = conv3d(3, {3, 2, 2}, {}, Padding::kSame);
  spec.dilation_rate = {2, 1, 2};
  check_conv3d(conv_case(spec, {5, 3, 4, 3}));
  spec.padding = Padding::kValid;
  check_conv3d(conv_case(spec, {5, 3, 4, 3}));
}

const FusionExample kConv3DActivation([] {
  Case c = conv_case(conv3d(4, {3, 3, 3}, {}, Padding::kSame), {3, 4, 3, 3});
  c.tail = tail_of(Activation::kRelu);
  return c;
});

/// Fused with the pooling if the Conv2D of the frames is.
Case pooled_frames(Activation f, const Shape& in, std::int64_t filters) {
  Case c = conv_case(conv3d(filters, {3, 3, 3}, {}, Padding::kSame), in);
  c.tail = tail_of(f);
  c.tail.push_back(layer(nn::MaxPooling3DSpec{.pool_size = {1, 2, 2}, .strides = {}}));
  c.some_devices = true;
  return c;
}
const FusionExample kConv3DFramePooling([] { return pooled_frames(Activation::kRelu, {3, 6, 4, 3}, 16); });

TEST(Conv3DOp, Activations) {
  for (const Activation f : {Activation::kRelu, Activation::kTanh}) {
    Case c = conv_case(conv3d(4, {2, 3, 3}, {}, Padding::kSame), {3, 4, 3, 3});
    c.tail = tail_of(f);
    check_conv3d(c);
  }
}

/// The fast Conv2D algorithms also apply to its images.
TEST(Conv3DOp, ByWinograd) {
  const Case c = conv_case(conv3d(32, {3, 3, 3}, {}, Padding::kSame), {3, 9, 8, 32});
  for (const int threads : {1, 3}) {
    const auto direct = backend::make_cpu_device(0, threads, {.conv = backend::ConvChoice::kDirect});
    const auto free = backend::make_cpu_device(0, threads, {});
    const std::string text = implementation(*free, c);
    for (const char* pass : {"forward winograd", "; data winograd", "; weights winograd"})
      EXPECT_NE(text.find(pass), std::string::npos) << text;
    const auto expected = train(*direct, c), found = train(*free, c);
    for (std::size_t i = 0; i < found.size(); ++i)
      expect_close(found[i], {expected[i].begin(), expected[i].end()}, 1e-5, "tensor " + std::to_string(i));
  }
}

}  // namespace
}  // namespace dptrain::test
