#pragma once

// Arguments of Winograd's passes from image to image, and block sizes. Only for winograd*.cpp.

#include <cstdint>

#include "kernels/cpu/winograd.h"

namespace dptrain::kernels::cpu {

/// Arguments of a forward or backward data pass: `in` is x or dy, `out` is y or dx.
struct WinogradImages {
  WinogradShape shape;
  int64_t rows = 0;
  const float *in = nullptr, *weights = nullptr, *bias = nullptr;
  const uint8_t* argmax_in = nullptr;
  float* out = nullptr;
  uint8_t* argmax_out = nullptr;
};

/// Layout of another pass's points: [point][block of 16 channels][tile][16], in floats. `tiles`: multiple of kTileRows.
struct SharedPoints {
  int64_t tiles = 0, point = 0, block = 0;
};

/// Transformed filters above this size are "big": they do not stay in the L2 cache next to a block. With 2 MiB of L2,
/// 3x3 from 128 to 128 channels (2.3 MiB) then takes 0.71 to 0.86 of the time.
inline constexpr int64_t kFewFilters = 1536 << 10;
/// Maximum bytes of a block's points and products, so that they stay in the L2 cache.
inline constexpr int64_t kBlockBytes = 288 << 10;
/// Tiles processed in each pass over big filters.
inline constexpr int64_t kManyTiles = 144;
/// Blocks of columns of big filters that share a pass over the points of a tile.
inline constexpr int64_t kMaxColumnsAtOnce = 2;
/// Up to this many tiles, threads divide the columns of big filters instead of the tiles.
inline constexpr int64_t kFewTiles = 256;
/// Maximum bytes of transformed filters and points of a slice of the depth.
inline constexpr int64_t kSliceBytes = 1 << 20;
/// Minimum blocks of 16 channels of a slice: fewer cost more in loading and storing sums than they save.
inline constexpr int64_t kMinSlice = 4;

}  // namespace dptrain::kernels::cpu
