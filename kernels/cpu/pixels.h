#pragma once

// Words that the kernels on images share. An image is [height, width, channels], bytes or floats, its rows `stride`
// elements apart, so a part of an image is an image. Single-threaded: one sample is one thread's work. They read
// nothing outside the rows and write nothing outside the output.

#include <cstdint>

namespace dptrain::kernels::cpu {

template <class T>
struct Pixels {
  const T* data;
  int64_t height, width, channels;
  int64_t stride;
};

/// The last thing that happens to a pixel: y[c] = x[reverse ? channels - 1 - c : c] * scale[c] + offset[c].
struct PixelMap {
  const float* scale;   ///< [channels]
  const float* offset;  ///< [channels]
  bool reverse;
};

/// out[y, x] = map(in), mirrored from left to right and from top to bottom where told. Rows of `out` are `out_stride`
/// floats apart.
void map_pixels(const Pixels<uint8_t>& in, const PixelMap& map, bool mirror_x, bool mirror_y, float* out,
                int64_t out_stride);
void map_pixels(const Pixels<float>& in, const PixelMap& map, bool mirror_x, bool mirror_y, float* out,
                int64_t out_stride);

}  // namespace dptrain::kernels::cpu
