#pragma once

// A JPEG's coefficients to samples: the inverse cosine transform that libjpeg calls "islow", by the same integers. Any
// thread; the work is done by the calling thread.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// `groups` groups of blocks (jpeg_scan.h), a row of them, times `steps`, to rows of samples 0..255: row r of the
/// blocks at out + r * stride, 32 samples for each group. `steps` are those of the quantisation, 256 numbers, laid out
/// as a group of four blocks that are the same. Both are aligned to 64 bytes.
///
/// false: coefficients of a block's first row are beyond what 16 bits hold in the first pass; libraries differ there.
bool jpeg_inverse_dct(const int16_t* coefficients, int64_t groups, const int16_t* steps, uint8_t* out, int64_t stride);

/// Whether that works on vectors on this machine. Where it does not, libjpeg's own is faster.
bool jpeg_has_vectors();

// Rows of samples to pixels: the coarser samples of chroma made as many as those of luma, by libjpeg's triangle filter,
// and YCbCr to RGB, both by libjpeg's integers. What is read may be read to 64 bytes beyond its end, whatever is there.

inline constexpr int64_t kJpegRowPad = 64;

/// n samples to 2n. in[-1] and in[n] are read, too: at an edge they are what stands there.
void jpeg_double_row(const uint8_t* in, int64_t n, uint8_t* out);
/// The same between rows: `near` counts three times as much as `far`.
void jpeg_double_rows(const uint8_t* near, const uint8_t* far, int64_t n, uint8_t* out);

/// n pixels of `channels` bytes, 3 or 4; the fourth is 255. Of what is beside them nothing is written.
void jpeg_color_row(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t n, int channels, uint8_t* out);

}  // namespace dptrain::kernels::cpu
