#pragma once

// Transforms for GPU kernels: plain data, built by data/pixel_program.h, run by kernels/cuda/pixels.h.

#include <cstdint>

namespace dptrain::kernels {

enum class PixelOpKind : int32_t {
  kAffine,       ///< x scale[c] + offset[c]
  kCrop,         ///< height x width from the centre or, if random, from a random place of the zero-padded image
  kFlip,         ///< along each enabled direction with probability 1/2
  kBrightness,   ///< x + random value * range, clipped
  kContrast,     ///< (x - mean[c]) * random value + mean[c], clipped
  kStandardize,  ///< (x - mean) / max(deviation, 1 / sqrt(elements)), per sample
};

inline constexpr int kMaxPixelOps = 8, kMaxPixelChannels = 4;

struct PixelOp {
  PixelOpKind kind = PixelOpKind::kAffine;
  uint32_t index = 0;                   ///< index among the transforms, part of the key of its random numbers
  int32_t in_height = 0, in_width = 0;  ///< of the input
  int32_t height = 0, width = 0;        ///< of the output
  int32_t padding = 0;
  bool random = false;                 ///< kCrop
  bool columns = false, rows = false;  ///< kFlip: allowed left-right, top-bottom
  bool per_channel = false;            ///< kAffine; false: one factor for all channels
  float scale[kMaxPixelChannels] = {}, offset[kMaxPixelChannels] = {};
  double low = 0, high = 0;      ///< kBrightness, kContrast: range of the random value, [low, high)
  float range = 0;               ///< kBrightness
  float floor = 0, ceiling = 0;  ///< the clip
};

/// Samples are [height, width, channels], or of any shape with channels last, as one row.
struct PixelProgram {
  uint64_t seed = 0;
  uint32_t purpose = 0;                         ///< purpose of the random numbers; the op's index is added
  int32_t height = 1, width = 1, channels = 1;  ///< of the input samples
  int32_t out_height = 1, out_width = 1;
  int32_t count = 0;
  PixelOp op[kMaxPixelOps] = {};

  int64_t in_elements() const { return int64_t{height} * width * channels; }
};

}  // namespace dptrain::kernels
