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

}  // namespace dptrain::kernels::cpu
