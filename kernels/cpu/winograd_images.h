#pragma once

// What Winograd's passes from image to image are given, and the bounds of their blocks. Words of winograd*.cpp alone.

#include <cstdint>

#include "kernels/cpu/winograd.h"

namespace dptrain::kernels::cpu {

/// What a forward or backward data pass is given. `in` is x or dy, `out` is y or dx.
struct WinogradImages {
  WinogradShape shape;
  int64_t rows = 0;
  const float *in = nullptr, *weights = nullptr, *bias = nullptr;
  const uint8_t* taken_in = nullptr;
  float* out = nullptr;
  uint8_t* taken_out = nullptr;
};

/// Points that another pass makes: [point][block of 16 channels][tile][16], in floats; for at most `tiles` tiles, a
/// multiple of kTileRows.
struct GivenPoints {
  int64_t tiles = 0, point = 0, block = 0;
};

/// Transformed filters of more bytes do not stay in the second cache beside a block: they are "big". With 2 MiB of it,
/// 3x3 from 128 to 128 channels (2.3 MiB) takes 0.71 to 0.86 of the time so.
inline constexpr int64_t kFewFilters = 1536 << 10;
/// A block's points and products take at most so many bytes, which stay in the second cache.
inline constexpr int64_t kBlockBytes = 288 << 10;
/// Big filters meet so many tiles in each pass over them.
inline constexpr int64_t kManyTiles = 144;
/// So many blocks of their columns share a pass over a tile's points.
inline constexpr int64_t kAbreast = 2;
/// Up to so many tiles in all, threads divide the columns of big filters, not the tiles.
inline constexpr int64_t kFewTiles = 256;
/// A slice of the depth has at most so many bytes of transformed filters and points.
inline constexpr int64_t kSliceBytes = 1 << 20;
/// A slice of fewer blocks of 16 channels saves less than loading and storing its sums costs.
inline constexpr int64_t kLeastSlice = 4;

}  // namespace dptrain::kernels::cpu
