#pragma once

// How a window goes along the depth of a volume, the same for kernels/cpu and kernels/cuda. Plain data.

#include <cstdint>

namespace dptrain::kernels {

/// A volume [rows, in_d, positions, groups, channels] falls into slabs [rows, out_d, positions, groups, kernel,
/// channels]: slab k of window o is frame o * stride + k * dilation - pad, and zero where the volume has none.
struct DepthWindow {
  int64_t in_d, out_d;
  int64_t positions, groups, channels;
  int64_t kernel, stride, dilation, pad;

  int64_t frame_elements() const { return positions * groups * channels; }
  int64_t volume_elements() const { return in_d * frame_elements(); }
  int64_t slab_elements() const { return out_d * kernel * frame_elements(); }
  /// The slabs are the volume.
  bool is_identity() const { return kernel == 1 && stride == 1 && pad == 0 && in_d == out_d; }
};

}  // namespace dptrain::kernels
