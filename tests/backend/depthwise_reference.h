#pragma once

// A depthwise convolution in double, in seven nested loops.

#include "backend/harness.h"
#include "nn/geometry.h"

namespace dptrain::test {

/// Without a bias. `Spec`: a layer with strides, padding, dilation_rate and depth_multiplier.
template <class Spec>
Tensor naive_depthwise(const Spec& s, const Tensor& x, const Tensor& kernel) {
  const auto window = nn::window({x.dim(1), x.dim(2), x.dim(3)}, s.kernel_size, s.strides, s.dilation_rate, s.padding);
  Tensor y({x.dim(0), window.h.out, window.w.out, x.dim(3) * s.depth_multiplier});
  for (std::int64_t n = 0; n < y.dim(0); ++n)
    for (std::int64_t oh = 0; oh < y.dim(1); ++oh)
      for (std::int64_t ow = 0; ow < y.dim(2); ++ow)
        for (std::int64_t c = 0; c < x.dim(3); ++c)
          for (std::int64_t m = 0; m < s.depth_multiplier; ++m) {
            double sum = 0;
            for (std::int64_t kh = 0; kh < s.kernel_size.h; ++kh)
              for (std::int64_t kw = 0; kw < s.kernel_size.w; ++kw) {
                const std::int64_t h = oh * s.strides.h + kh * s.dilation_rate.h - window.h.pad_before;
                const std::int64_t w = ow * s.strides.w + kw * s.dilation_rate.w - window.w.pad_before;
                if (h >= 0 && h < x.dim(1) && w >= 0 && w < x.dim(2)) sum += x(n, h, w, c) * kernel(kh, kw, c, m);
              }
            y(n, oh, ow, c * s.depth_multiplier + m) = sum;
          }
  return y;
}

/// Adds bias[c] to the last axis.
inline Tensor with_bias(Tensor y, const Tensor& bias) {
  for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += bias.values[i % bias.values.size()];
  return y;
}

}  // namespace dptrain::test
