#pragma once

// Resizing of images by weighted sums along each axis (bilinear, with or without antialiasing), and by picking pixels
// (nearest). The caller provides the tables; a table in reverse order mirrors the result.

#include <cstdint>

#include "kernels/cpu/pixels.h"

namespace dptrain::kernels::cpu {

/// One axis: output i = sum over t < taps of weights[t * size + i] times input first[i] + t, an index inside the input.
struct ResizeAxis {
  int64_t size, taps;
  const int32_t* first;  ///< [size]
  const float* weights;  ///< [taps, size]
};

/// Floats of `work` for resize().
int64_t resize_workspace(int64_t in_width, int64_t channels);

/// out [rows.size, columns.size, channels] = map(columns(rows(in))).
void resize(const Pixels<uint8_t>& in, const ResizeAxis& rows, const ResizeAxis& columns, const PixelMap& map,
            float* work, float* out);
void resize(const Pixels<float>& in, const ResizeAxis& rows, const ResizeAxis& columns, const PixelMap& map,
            float* work, float* out);

/// out[y, x] = map(in[rows[y], columns[x]]).
void pick_pixels(const Pixels<uint8_t>& in, const int32_t* rows, int64_t height, const int32_t* columns, int64_t width,
                 const PixelMap& map, float* out);
void pick_pixels(const Pixels<float>& in, const int32_t* rows, int64_t height, const int32_t* columns, int64_t width,
                 const PixelMap& map, float* out);
/// out[y, x] = in[rows[y], columns[x]].
void pick_pixels(const Pixels<uint8_t>& in, const int32_t* rows, int64_t height, const int32_t* columns, int64_t width,
                 uint8_t* out);

}  // namespace dptrain::kernels::cpu
