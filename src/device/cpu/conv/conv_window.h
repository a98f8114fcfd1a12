#pragma once

// The shape of a convolution in the words of the kernels of our own.

#include "device/cpu/conv/conv_pass.h"
#include "kernels/conv_window.h"

namespace dptrain::device::cpu {

static_assert(kTakenNone == kernels::kNothingTaken);

/// Whether a ConvWindow can say what the convolution is.
inline bool has_window(const ConvShape& s) { return s.groups == 1 && s.dilation == Size2{1, 1}; }

inline kernels::ConvWindow window_of(const ConvShape& s) {
  return {.in_h = s.in_h,
          .in_w = s.in_w,
          .in_channels = s.in_channels,
          .out_h = s.out_h,
          .out_w = s.out_w,
          .out_channels = s.out_channels,
          .kernel_h = s.kernel.h,
          .kernel_w = s.kernel.w,
          .stride_h = s.strides.h,
          .stride_w = s.strides.w,
          .pad_top = s.pad_top,
          .pad_left = s.pad_left};
}

}  // namespace dptrain::device::cpu
