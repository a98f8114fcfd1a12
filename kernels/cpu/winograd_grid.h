#pragma once

// How Winograd's passes cut a batch into tiles, and their workspace into parts. Words of winograd*.cpp alone.

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/winograd.h"

namespace dptrain::kernels::cpu {

enum class WinogradTile { k4x3, k3x3, k2x5 };

/// The fewest products; tiles of two by two windows where the output is pooled.
inline WinogradTile tile_of(const WinogradShape& s) {
  if (s.kernel == 5) return WinogradTile::k2x5;
  if (s.pool) return WinogradTile::k4x3;
  const auto products = [&](int64_t tile, int64_t points) {
    return ((s.out_h + tile - 1) / tile) * ((s.out_w + tile - 1) / tile) * points * points;
  };
  return 100 * products(3, 5) < 97 * products(4, 6) ? WinogradTile::k3x3 : WinogradTile::k4x3;
}

/// The tiles of a batch, in raster order.
struct TileGrid {
  int64_t tile, columns, per_image, total;

  /// Tiles that cover h x w pixels of the output.
  TileGrid(int64_t side, int64_t h, int64_t w, int64_t rows)
      : tile(side),
        columns((w + side - 1) / side),
        per_image((h + side - 1) / side * columns),
        total(per_image * rows) {}

  struct Place {
    int64_t image, y, x;  ///< of the tile's first pixel of the output
  };
  Place place(int64_t t) const {
    const int64_t image = t / per_image, in_image = t % per_image;
    return {image, in_image / columns * tile, in_image % columns * tile};
  }
};

/// Floats that fill whole cache lines.
constexpr int64_t lines(int64_t floats) { return (floats + 15) / 16 * 16; }
/// The same, an odd number of lines: arrays so far apart do not meet in the same cache sets.
constexpr int64_t odd_lines(int64_t floats) { return lines(floats) + (lines(floats) / 16 % 2 == 0 ? 16 : 0); }

/// Parts of a workspace, each aligned to a cache line; without one, only their size is counted.
class WinogradRoom {
 public:
  explicit WinogradRoom(float* workspace) : start_(workspace) {
    const auto at = reinterpret_cast<uintptr_t>(workspace);
    if (workspace != nullptr) start_ += (64 - at % 64) % 64 / sizeof(float);
  }
  float* take(int64_t floats) {
    float* const part = start_ == nullptr ? nullptr : start_ + taken_;
    taken_ += lines(floats);
    return part;
  }
  /// With what the alignment of the first part may cost.
  int64_t taken() const { return taken_ + 15; }

 private:
  float* start_;
  int64_t taken_ = 0;
};

/// Tiles in a block: at most `most`, a multiple of `step` and about the same in each of the blocks that cover `total`.
constexpr int64_t tiles_in_block(int64_t most, int64_t total, int64_t step) {
  most = std::min(std::max(step, most / step * step), std::max<int64_t>(1, total));
  const int64_t blocks = (total + most - 1) / most;
  const int64_t each = (total + blocks - 1) / std::max<int64_t>(1, blocks);
  return std::max<int64_t>(1, (each + step - 1) / step) * step;
}

}  // namespace dptrain::kernels::cpu
