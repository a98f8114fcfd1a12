#pragma once

// The window of a pooling kernel, the same for kernels/cpu and kernels/cuda. Plain data.

#include <cstdint>

namespace dptrain::kernels {

/// Every window must overlap the input in at least one position; what of it lies outside does not exist: it is no
/// candidate for the maximum and does not count in the mean.
struct PoolWindow {
  int64_t in_h, in_w, channels;
  int64_t out_h, out_w;
  int64_t kernel_h, kernel_w;
  int64_t stride_h, stride_w;
  int64_t pad_top, pad_left;
};

/// The largest kernel_h * kernel_w that max pooling accepts: positions are kept in one byte. Checked by the caller.
inline constexpr int64_t kMaxPoolWindow = 255;

}  // namespace dptrain::kernels
