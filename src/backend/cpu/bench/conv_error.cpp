#include "backend/cpu/bench/conv_error.h"

#include <algorithm>
#include <cmath>

namespace dptrain::backend::cpu {
namespace {

constexpr double kProducts = 1e8;  // of all elements together: half a second at most
constexpr std::int64_t kFewest = 100, kMost = 2000;

/// Single elements of a pass in double. Indices as in ConvShape's layouts.
class Exact {
 public:
  Exact(const ConvShape& shape, const ConvTensors& tensors)
      : s_(shape),
        t_(tensors),
        channels_(shape.in_channels / shape.groups),
        filters_(shape.out_channels / shape.groups) {}

  double y(std::int64_t index) const {
    const std::int64_t height = s_.pool ? s_.out_h / 2 : s_.out_h, width = s_.pool ? s_.out_w / 2 : s_.out_w;
    const std::int64_t o = next(index, s_.out_channels), w = next(index, width), h = next(index, height);
    if (!s_.pool) return output(index, h, w, o);
    return std::max(std::max(output(index, 2 * h, 2 * w, o), output(index, 2 * h, 2 * w + 1, o)),
                    std::max(output(index, 2 * h + 1, 2 * w, o), output(index, 2 * h + 1, 2 * w + 1, o)));
  }

  double dx(std::int64_t index) const {
    const std::int64_t c = next(index, s_.in_channels), w = next(index, s_.in_w), h = next(index, s_.in_h);
    const std::int64_t group = c / channels_;
    double sum = 0;
    for (std::int64_t kh = 0; kh < s_.kernel_h; ++kh)
      for (std::int64_t kw = 0; kw < s_.kernel_w; ++kw) {
        const std::int64_t down = h + s_.pad_top - kh * s_.dilation_h, right = w + s_.pad_left - kw * s_.dilation_w;
        if (down < 0 || right < 0 || down % s_.stride_h != 0 || right % s_.stride_w != 0) continue;
        const std::int64_t oh = down / s_.stride_h, ow = right / s_.stride_w;
        if (oh >= s_.out_h || ow >= s_.out_w) continue;
        for (std::int64_t o = group * filters_; o < (group + 1) * filters_; ++o)
          sum += static_cast<double>(t_.weights[weight(kh, kw, c % channels_, o)]) * gradient(index, oh, ow, o);
      }
    return sum;
  }

  double dweights(std::int64_t index) const {
    const std::int64_t o = next(index, s_.out_channels), c = next(index, channels_), kw = next(index, s_.kernel_w);
    double sum = 0;
    for (std::int64_t row = 0; row < s_.rows; ++row)
      for (std::int64_t oh = 0; oh < s_.out_h; ++oh)
        for (std::int64_t ow = 0; ow < s_.out_w; ++ow)
          sum += input(row, oh, ow, index, kw, o / filters_ * channels_ + c) * gradient(row, oh, ow, o);
    return sum;
  }

 private:
  /// Takes the innermost of the indices that `index` stands for.
  static std::int64_t next(std::int64_t& index, std::int64_t extent) {
    const std::int64_t inner = index % extent;
    index /= extent;
    return inner;
  }

  std::int64_t weight(std::int64_t kh, std::int64_t kw, std::int64_t c, std::int64_t o) const {
    return ((kh * s_.kernel_w + kw) * channels_ + c) * s_.out_channels + o;
  }

  /// Under one weight of the window of an output; 0 in the padding.
  double input(std::int64_t row, std::int64_t oh, std::int64_t ow, std::int64_t kh, std::int64_t kw,
               std::int64_t c) const {
    const std::int64_t h = oh * s_.stride_h + kh * s_.dilation_h - s_.pad_top;
    const std::int64_t w = ow * s_.stride_w + kw * s_.dilation_w - s_.pad_left;
    if (h < 0 || h >= s_.in_h || w < 0 || w >= s_.in_w) return 0;
    return t_.x[((row * s_.in_h + h) * s_.in_w + w) * s_.in_channels + c];
  }

  double output(std::int64_t row, std::int64_t oh, std::int64_t ow, std::int64_t o) const {
    double sum = s_.bias ? t_.bias[o] : 0;
    for (std::int64_t kh = 0; kh < s_.kernel_h; ++kh)
      for (std::int64_t kw = 0; kw < s_.kernel_w; ++kw)
        for (std::int64_t c = 0; c < channels_; ++c)
          sum += static_cast<double>(t_.weights[weight(kh, kw, c, o)]) *
                 input(row, oh, ow, kh, kw, o / filters_ * channels_ + c);
    return s_.relu ? std::max(sum, 0.0) : sum;
  }

  /// Of the convolution's own output, where pooling let it through.
  double gradient(std::int64_t row, std::int64_t oh, std::int64_t ow, std::int64_t o) const {
    if (!s_.pool) return t_.dy[((row * s_.out_h + oh) * s_.out_w + ow) * s_.out_channels + o];
    const std::int64_t height = s_.out_h / 2, width = s_.out_w / 2;
    if (oh / 2 >= height || ow / 2 >= width) return 0;
    const std::int64_t pooled = ((row * height + oh / 2) * width + ow / 2) * s_.out_channels + o;
    return t_.taken[pooled] == 2 * (oh % 2) + ow % 2 ? t_.dy[pooled] : 0;
  }

  const ConvShape& s_;
  const ConvTensors& t_;
  std::int64_t channels_, filters_;  // of one group
};

/// Of `elements` in `result` and of exact(index), each of which takes so many products.
template <class F>
double distance(const float* result, std::int64_t elements, std::int64_t products, const F& exact) {
  const auto samples = std::clamp(static_cast<std::int64_t>(kProducts / static_cast<double>(products)), kFewest, kMost);
  double difference = 0, size = 0;
  for (std::int64_t k = 0; k < samples; ++k) {
    constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15U;  // spreads them over all channels and positions
    const auto index =
        static_cast<std::int64_t>(kGolden * static_cast<std::uint64_t>(k) % static_cast<std::uint64_t>(elements));
    const double value = exact(index), missing = static_cast<double>(result[index]) - value;
    difference += missing * missing;
    size += value * value;
  }
  return std::sqrt(size > 0 ? difference / size : difference);
}

}  // namespace

double conv_error(ConvPassKind kind, const ConvShape& s, const ConvTensors& t) {
  const Exact exact(s, t);
  const std::int64_t window = s.kernel_h * s.kernel_w, channels = s.in_channels / s.groups;
  switch (kind) {
    case ConvPassKind::kForward: {
      const std::int64_t positions = s.pool ? (s.out_h / 2) * (s.out_w / 2) : s.out_h * s.out_w;
      return distance(t.y, s.rows * positions * s.out_channels, window * channels * (s.pool ? 4 : 1),
                      [&](std::int64_t index) { return exact.y(index); });
    }
    case ConvPassKind::kBackwardData:
      return distance(t.dx, s.rows * s.in_h * s.in_w * s.in_channels, window * s.out_channels / s.groups,
                      [&](std::int64_t index) { return exact.dx(index); });
    case ConvPassKind::kBackwardWeights:
      return distance(t.dweights, window * channels * s.out_channels, s.rows * s.out_h * s.out_w,
                      [&](std::int64_t index) { return exact.dweights(index); });
  }
  return 0;
}

}  // namespace dptrain::backend::cpu
