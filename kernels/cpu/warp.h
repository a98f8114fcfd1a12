#pragma once

// Rotation, zoom and shift of an image in one pass: every pixel of the result samples one point of the input. This is
// TensorFlow's ImageProjectiveTransformV3 (used by Keras's random layers) without its projective part.

#include <cstdint>

#include "kernels/cpu/pixels.h"

namespace dptrain::kernels::cpu {

/// Pixels outside the image: its mirror image, its repetition, a constant, the nearest pixel.
enum class WarpFill { kReflect, kWrap, kConstant, kNearest };

/// Output (x, y) samples input (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]); pixel centres are integers.
struct Warp {
  float matrix[6];
  WarpFill fill = WarpFill::kReflect;
  float fill_value = 0;                     ///< for kConstant; before the map
  bool bilinear = true;                     ///< else the nearest pixel
  bool mirror_x = false, mirror_y = false;  ///< of the result
};

/// out [height, width, channels], the size of `in`.
void warp(const Pixels<uint8_t>& in, const Warp& warp, const PixelMap& map, float* out);
void warp(const Pixels<float>& in, const Warp& warp, const PixelMap& map, float* out);

}  // namespace dptrain::kernels::cpu
