#pragma once

// Rows of a JPEG's samples to pixels: the coarser samples of chroma made as many as those of luma, by libjpeg's
// triangle filter, and YCbCr to RGB, both by libjpeg's integers. Any thread; the work is done by the calling thread.
// What is read may be read to 64 bytes beyond its end, whatever is there.

#include <cstdint>

namespace dptrain::kernels::cpu {

inline constexpr int64_t kJpegRowPad = 64;

/// n samples to 2n. in[-1] and in[n] are read, too: at an edge they are what stands there.
void jpeg_double_row(const uint8_t* in, int64_t n, uint8_t* out);
/// The same between rows: `near` counts three times as much as `far`.
void jpeg_double_rows(const uint8_t* near, const uint8_t* far, int64_t n, uint8_t* out);

/// n pixels of `channels` bytes, 3 or 4; the fourth is 255. Of what is beside them nothing is written.
void jpeg_color_row(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t n, int channels, uint8_t* out);

}  // namespace dptrain::kernels::cpu
