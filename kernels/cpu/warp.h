#pragma once

// Rotation, zoom and shift of an image in one: every pixel of the result looks at one point of the input. The
// arithmetic of TensorFlow's ImageProjectiveTransformV3, on which Keras's random layers stand, without its projective
// part.

#include <cstdint>

#include "kernels/cpu/pixels.h"

namespace dptrain::kernels::cpu {

/// What lies outside the image: its mirror image, the image again, one value, the nearest pixel.
enum class WarpFill { kReflect, kWrap, kConstant, kNearest };

/// Output place (x, y) reads input place (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]); pixel centres are whole.
struct Warp {
  float matrix[6];
  WarpFill fill = WarpFill::kReflect;
  float fill_value = 0;                     ///< kConstant; before the map
  bool bilinear = true;                     ///< else the nearest pixel
  bool mirror_x = false, mirror_y = false;  ///< of the result
};

/// out [height, width, channels], as large as `in`.
void warp(const Pixels<uint8_t>& in, const Warp& warp, const PixelMap& map, float* out);
void warp(const Pixels<float>& in, const Warp& warp, const PixelMap& map, float* out);

}  // namespace dptrain::kernels::cpu
