#pragma once

// A list of transforms in the form in which kernels for GPUs run them: plain data, the same on host and device. Made by
// data/pixel_program.h, which says what is meant by each; run by kernels/cuda/pixels.h.

#include <cstdint>

namespace dptrain::kernels {

enum class PixelOpKind : int32_t {
  kAffine,      ///< x scale[c] + offset[c]
  kCrop,        ///< height x width from the middle, or from where it is drawn among rows and columns with padding zeros
  kFlip,        ///< each direction that it may turn with probability 1/2
  kBrightness,  ///< x + drawn range, clipped
  kContrast,    ///< (x - mean[c]) drawn + mean[c], clipped
  kStandardize,  ///< (x - mean) / max(deviation, 1 / sqrt(elements)) of the whole sample
};

inline constexpr int kMaxPixelOps = 8, kMaxPixelChannels = 4;

struct PixelOp {
  PixelOpKind kind = PixelOpKind::kAffine;
  uint32_t index = 0;                   ///< place among the transforms, of the key of its draws
  int32_t in_height = 0, in_width = 0;  ///< of what it gets
  int32_t height = 0, width = 0;        ///< of what it makes
  int32_t padding = 0;
  bool random = false;                 ///< kCrop
  bool columns = false, rows = false;  ///< kFlip: may turn left and right, top and bottom
  bool per_channel = false;            ///< kAffine; else one factor for all
  float scale[kMaxPixelChannels] = {}, offset[kMaxPixelChannels] = {};
  double low = 0, high = 0;      ///< kBrightness, kContrast: what is drawn lies in [low, high)
  float range = 0;               ///< kBrightness
  float floor = 0, ceiling = 0;  ///< the clip
};

/// Samples are [height, width, channels], or anything else with the last axis as channels, all in one row.
struct PixelProgram {
  uint64_t seed = 0;
  uint32_t purpose = 0;                         ///< of the draws, before the op's index is added
  int32_t height = 1, width = 1, channels = 1;  ///< as samples come
  int32_t out_height = 1, out_width = 1;
  int32_t count = 0;
  PixelOp op[kMaxPixelOps] = {};

  int64_t in_elements() const { return int64_t{height} * width * channels; }
};

}  // namespace dptrain::kernels
