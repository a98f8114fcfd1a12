#pragma once

// What a depthwise convolution is, the same for kernels/cpu and kernels/cuda. Plain data.

#include <cstdint>

#ifndef DPTRAIN_HOST_DEVICE
#if defined(__CUDACC__)
#define DPTRAIN_HOST_DEVICE __host__ __device__
#else
#define DPTRAIN_HOST_DEVICE
#endif
#endif

namespace dptrain::kernels {

/// Images are [rows, in_h, in_w, channels] and [rows, out_h, out_w, channels * multiplier], weights
/// [kernel_h, kernel_w, channels * multiplier]: output channel o reads input channel o / multiplier. On neither axis
/// are both stride and dilation beyond 1.
struct DepthwiseShape {
  int64_t in_h, in_w, channels, multiplier;
  int64_t out_h, out_w;
  int64_t kernel_h, kernel_w;
  int64_t stride_h, stride_w;
  int64_t dilation_h, dilation_w;
  int64_t pad_top, pad_left;

  DPTRAIN_HOST_DEVICE constexpr int64_t out_channels() const { return channels * multiplier; }
  DPTRAIN_HOST_DEVICE constexpr int64_t weights() const { return kernel_h * kernel_w * out_channels(); }
};

}  // namespace dptrain::kernels
