#pragma once

// Convolution in double, product by product; the reference of the kernels for convolutions.

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/geometry.h"

namespace dptrain::kernels::cpu::test {

inline int64_t in_size(const ConvWindow& w) { return w.in_h * w.in_w * w.in_channels; }
inline int64_t out_size(const ConvWindow& w) { return w.out_h * w.out_w * w.out_channels; }

/// `in` by `in` pixels, with this padding on each side.
inline ConvWindow conv_window(int64_t in_h, int64_t in_w, int64_t in_channels, int64_t out_channels, int64_t kernel,
                              int64_t stride, int64_t pad_before, int64_t pad_after) {
  const auto out = [&](int64_t in) { return (in + pad_before + pad_after - kernel) / stride + 1; };
  return {.in_h = in_h,
          .in_w = in_w,
          .in_channels = in_channels,
          .out_h = out(in_h),
          .out_w = out(in_w),
          .out_channels = out_channels,
          .kernel_h = kernel,
          .kernel_w = kernel,
          .stride_h = stride,
          .stride_w = stride,
          .pad_top = pad_before,
          .pad_left = pad_before};
}

/// Calls f(x index, weight index, y index) for every product.
template <class F>
void each_conv_product(const ConvWindow& w, int64_t rows, const F& f) {
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t oh = 0; oh < w.out_h; ++oh)
      for (int64_t ow = 0; ow < w.out_w; ++ow)
        for (int64_t kh = 0; kh < w.kernel_h; ++kh)
          for (int64_t kw = 0; kw < w.kernel_w; ++kw) {
            const int64_t h = oh * w.stride_h + kh - w.pad_top, v = ow * w.stride_w + kw - w.pad_left;
            if (h < 0 || h >= w.in_h || v < 0 || v >= w.in_w) continue;
            for (int64_t c = 0; c < w.in_channels; ++c) {
              const int64_t from = ((n * w.in_h + h) * w.in_w + v) * w.in_channels + c;
              const int64_t tap = ((kh * w.kernel_w + kw) * w.in_channels + c) * w.out_channels;
              const int64_t to = ((n * w.out_h + oh) * w.out_w + ow) * w.out_channels;
              for (int64_t o = 0; o < w.out_channels; ++o)
                f(static_cast<size_t>(from), static_cast<size_t>(tap + o), static_cast<size_t>(to + o));
            }
          }
}

inline std::vector<double> naive_conv(const ConvWindow& w, const std::vector<float>& x,
                                      const std::vector<float>& weights, const std::vector<float>& bias, int64_t rows) {
  std::vector<double> y(static_cast<size_t>(rows * out_size(w)));
  for (size_t i = 0; !bias.empty() && i < y.size(); ++i) y[i] = static_cast<double>(bias[i % bias.size()]);
  each_conv_product(w, rows, [&](size_t from, size_t tap, size_t to) {
    y[to] += static_cast<double>(x[from]) * static_cast<double>(weights[tap]);
  });
  return y;
}

/// Gradients of the weights, then of the bias.
inline std::vector<double> naive_weight_gradient(const ConvWindow& w, const std::vector<float>& x,
                                                 const std::vector<float>& dy, int64_t rows) {
  std::vector<double> gradient(static_cast<size_t>(w.weights() + w.out_channels));
  each_conv_product(w, rows, [&](size_t from, size_t tap, size_t to) {
    gradient[tap] += static_cast<double>(x[from]) * static_cast<double>(dy[to]);
  });
  const size_t channels = static_cast<size_t>(w.out_channels), bias = static_cast<size_t>(w.weights());
  for (size_t i = 0; i < dy.size(); ++i) gradient[bias + i % channels] += static_cast<double>(dy[i]);
  return gradient;
}

inline std::vector<double> naive_data_gradient(const ConvWindow& w, const std::vector<float>& weights,
                                               const std::vector<float>& dy, int64_t rows) {
  std::vector<double> gradient(static_cast<size_t>(rows * in_size(w)));
  each_conv_product(w, rows, [&](size_t from, size_t tap, size_t to) {
    gradient[from] += static_cast<double>(weights[tap]) * static_cast<double>(dy[to]);
  });
  return gradient;
}

}  // namespace dptrain::kernels::cpu::test
