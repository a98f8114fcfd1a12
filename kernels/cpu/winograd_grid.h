#pragma once

// How Winograd's passes cut a batch into tiles. Words of winograd*.cpp alone.

#include <cstdint>

#include "kernels/cpu/room.h"
#include "kernels/cpu/winograd.h"

namespace dptrain::kernels::cpu {

enum class WinogradTile { k4x3, k3x3, k2x5 };

/// The fewest products; tiles of two by two windows where the output is pooled.
inline WinogradTile tile_of(const WinogradShape& s) {
  if (s.kernel_h == 5) return WinogradTile::k2x5;
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

}  // namespace dptrain::kernels::cpu
