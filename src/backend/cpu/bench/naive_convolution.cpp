#include "backend/cpu/bench/naive_convolution.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/conv/conv_key.h"

namespace dptrain::backend::cpu {
namespace {

class NaiveConv final : public ConvPass {
 public:
  NaiveConv(ConvPassKind kind, const ConvShape& shape) : kind_(kind), s_(shape) {}

  std::string name() const override { return "naive"; }
  std::size_t scratch() const override { return 0; }

  void run(const ConvTensors& t, void*) override {
    switch (kind_) {
      case ConvPassKind::kForward: return forward(t);
      case ConvPassKind::kBackwardData:
        std::fill_n(t.dx, s_.rows * s_.in_h * s_.in_w * s_.in_channels, 0.0F);
        return for_products(
            [&](std::int64_t in, std::int64_t weight, std::int64_t out) { t.dx[in] += t.weights[weight] * t.dy[out]; });
      case ConvPassKind::kBackwardWeights: return backward_weights(t);
    }
  }

 private:
  void forward(const ConvTensors& t) const {
    const std::int64_t outputs = s_.rows * s_.out_h * s_.out_w * s_.out_channels;
    for (std::int64_t i = 0; i < outputs; ++i) t.y[i] = s_.bias ? t.bias[i % s_.out_channels] : 0.0F;
    for_products(
        [&](std::int64_t in, std::int64_t weight, std::int64_t out) { t.y[out] += t.x[in] * t.weights[weight]; });
    if (s_.relu)
      for (std::int64_t i = 0; i < outputs; ++i) t.y[i] = std::max(t.y[i], 0.0F);
  }

  void backward_weights(const ConvTensors& t) const {
    std::fill_n(t.dweights, s_.weights(), 0.0F);
    for_products(
        [&](std::int64_t in, std::int64_t weight, std::int64_t out) { t.dweights[weight] += t.x[in] * t.dy[out]; });
    if (!s_.bias) return;
    std::fill_n(t.dbias, s_.out_channels, 0.0F);
    for (std::int64_t i = 0; i < s_.rows * s_.out_h * s_.out_w * s_.out_channels; ++i)
      t.dbias[i % s_.out_channels] += t.dy[i];
  }

  /// f(index in x, index in the kernel, index in y) for every product.
  template <class F>
  void for_products(const F& f) const {
    for (std::int64_t row = 0; row < s_.rows; ++row)
      for (std::int64_t oh = 0; oh < s_.out_h; ++oh)
        for (std::int64_t ow = 0; ow < s_.out_w; ++ow) for_window(f, row, oh, ow);
  }

  template <class F>
  void for_window(const F& f, std::int64_t row, std::int64_t oh, std::int64_t ow) const {
    const std::int64_t channels = s_.in_channels / s_.groups, filters = s_.out_channels / s_.groups;
    const std::int64_t out = ((row * s_.out_h + oh) * s_.out_w + ow) * s_.out_channels;
    for (std::int64_t kh = 0; kh < s_.kernel_h; ++kh)
      for (std::int64_t kw = 0; kw < s_.kernel_w; ++kw) {
        const std::int64_t h = oh * s_.stride_h + kh * s_.dilation_h - s_.pad_top;
        const std::int64_t w = ow * s_.stride_w + kw * s_.dilation_w - s_.pad_left;
        if (h < 0 || h >= s_.in_h || w < 0 || w >= s_.in_w) continue;
        const std::int64_t in = ((row * s_.in_h + h) * s_.in_w + w) * s_.in_channels;
        for (std::int64_t group = 0; group < s_.groups; ++group)
          for (std::int64_t c = 0; c < channels; ++c) {
            const std::int64_t weight = ((kh * s_.kernel_w + kw) * channels + c) * s_.out_channels;
            for (std::int64_t o = group * filters; o < (group + 1) * filters; ++o)
              f(in + group * channels + c, weight + o, out + o);
          }
      }
  }

  ConvPassKind kind_;
  ConvShape s_;
};

}  // namespace

std::unique_ptr<ConvPass> make_naive_conv(ConvPassKind kind, const ConvShape& shape) {
  return std::make_unique<NaiveConv>(kind, shape);
}

ConvShape few_lines(ConvShape shape, double flops) {
  shape.rows = 1;
  shape.pool = false;
  const double of_line = flops_of(shape) / static_cast<double>(shape.out_h);
  const auto lines = std::max<std::int64_t>(1, std::llround(flops / of_line));
  if (lines >= shape.out_h) return shape;
  shape.out_h = lines;
  shape.in_h = (lines - 1) * shape.stride_h + (shape.kernel_h - 1) * shape.dilation_h + 1;
  shape.pad_top = shape.pad_bottom = 0;
  return shape;
}

}  // namespace dptrain::backend::cpu
