#pragma once

// Types of the image kernels. An image is [height, width, channels], bytes or floats, with rows `stride` elements
// apart, so a part of an image is an image. Single-threaded. They access nothing outside the rows and the output.

#include <cstdint>

namespace dptrain::kernels::cpu {

template <class T>
struct Pixels {
  const T* data;
  int64_t height, width, channels;
  int64_t stride;
};

/// Last operation on a pixel: y[c] = x[reverse ? channels - 1 - c : c] * scale[c] + offset[c].
struct PixelMap {
  const float* scale;   ///< [channels]
  const float* offset;  ///< [channels]
  bool reverse;
};

/// out[y, x] = map(in), optionally mirrored horizontally and vertically. Rows of `out` are `out_stride` floats apart.
void map_pixels(const Pixels<uint8_t>& in, const PixelMap& map, bool mirror_x, bool mirror_y, float* out,
                int64_t out_stride);
void map_pixels(const Pixels<float>& in, const PixelMap& map, bool mirror_x, bool mirror_y, float* out,
                int64_t out_stride);

}  // namespace dptrain::kernels::cpu
