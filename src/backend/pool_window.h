#pragma once

// The window of a pooling layer in the words of the kernels.

#include "backend/device.h"
#include "core/error.h"
#include "core/format.h"
#include "kernels/geometry.h"
#include "nn/geometry.h"
#include "nn/pooling.h"

namespace dptrain::backend {

/// `Spec`: MaxPooling2DSpec or AveragePooling2DSpec.
template <class Spec>
kernels::PoolWindow pool_window(const Spec& spec, const OpContext& context) {
  const Shape &in = context.input(0), &out = context.output();
  const Size2 strides = spec.strides.value_or(spec.pool_size);
  const nn::Window window = nn::window(in, spec.pool_size, strides, Size2{1, 1}, spec.padding);
  return {.in_h = in[0],
          .in_w = in[1],
          .channels = in[2],
          .out_h = out[0],
          .out_w = out[1],
          .kernel_h = spec.pool_size.h,
          .kernel_w = spec.pool_size.w,
          .stride_h = strides.h,
          .stride_w = strides.w,
          .pad_top = window.h.pad_before,
          .pad_left = window.w.pad_before};
}

/// The same of a MaxPooling2D, which keeps positions in one byte. Throws Error{kUsage} where that is too little.
inline kernels::PoolWindow max_pool_window(const nn::MaxPooling2DSpec& spec, const OpContext& context,
                                           const Device& device) {
  const kernels::PoolWindow window = pool_window(spec, context);
  if (window.kernel_h * window.kernel_w > kernels::kMaxPoolWindow)
    throw Error(
        ErrorKind::kUsage,
        fmt::format("MaxPooling2D '{}': {} keeps positions in one byte: pool_size must have at most {} elements, "
                    "found {}x{}",
                    context.step.name, device.name(), kernels::kMaxPoolWindow, window.kernel_h, window.kernel_w));
  return window;
}

}  // namespace dptrain::backend
