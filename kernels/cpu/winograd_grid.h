#pragma once

// How Winograd's passes cut a batch into tiles. Only for winograd*.cpp.

#include <cstdint>

#include "kernels/cpu/winograd.h"
#include "kernels/cpu/workspace.h"

namespace dptrain::kernels::cpu {

enum class WinogradTile { k4x3, k3x3, k6x3, k2x5, k4x5 };

struct TileFacts {
  const char* name;
  int64_t side;  ///< in pixels of the output
};

inline TileFacts facts_of(WinogradTile tile) {
  switch (tile) {
    case WinogradTile::k4x3: return {"F(4x4,3x3)", 4};
    case WinogradTile::k3x3: return {"F(3x3,3x3)", 3};
    case WinogradTile::k6x3: return {"F(6x6,3x3)", 6};
    case WinogradTile::k2x5: return {"F(2x2,5x5)", 2};
    case WinogradTile::k4x5: return {"F(4x4,5x5)", 4};
  }
  return {"", 1};
}

/// Multiplications per pair of channels of an image whose output is covered by tiles of `side` x `side`.
inline int64_t products_of(const WinogradShape& s, int64_t side) {
  const int64_t points = side + s.kernel_h - 1;
  return ((s.out_h + side - 1) / side) * ((s.out_w + side - 1) / side) * points * points;
}

/// Maximum pairs of channels for F(6x6, 3x3), so that transformed filters stay in the L2 cache.
inline constexpr int64_t kFewPairs = 64 * 64;

/// The tile with the fewest products; with pooling, an even tile. Eight points per line must save a fifth: their
/// transforms cost more, with up to twice the error of F(4x4, 3x3). With AVX-512 F(4x4, 5x5) takes 0.4 to 0.9 of the
/// time of F(2x2, 5x5), F(6x6, 3x3) 0.7 to 1.1 of the others'; with AVX2 networks are 1.36 and 1.04 times as fast.
inline WinogradTile tile_of(const WinogradShape& s) {
  const auto saves_a_fifth = [](int64_t products, int64_t others) { return 5 * products < 4 * others; };
  if (s.kernel_h == 5)
    return saves_a_fifth(products_of(s, 4), products_of(s, 2)) ? WinogradTile::k4x5 : WinogradTile::k2x5;
  const int64_t by_4 = products_of(s, 4), by_3 = products_of(s, 3);
  const bool threes = !s.pool && 100 * by_3 < 97 * by_4;
  if (s.in_channels * s.out_channels <= kFewPairs && saves_a_fifth(products_of(s, 6), threes ? by_3 : by_4))
    return WinogradTile::k6x3;
  return threes ? WinogradTile::k3x3 : WinogradTile::k4x3;
}

/// The tiles of a batch, in raster order.
struct TileGrid {
  int64_t tile, columns, per_image, total;

  TileGrid(int64_t side, int64_t h, int64_t w, int64_t rows)
      : tile(side),
        columns((w + side - 1) / side),
        per_image((h + side - 1) / side * columns),
        total(per_image * rows) {}

  struct Place {
    int64_t image, y, x;  ///< first output pixel of the tile
  };
  Place place(int64_t t) const {
    const int64_t image = t / per_image, in_image = t % per_image;
    return {image, in_image / columns * tile, in_image % columns * tile};
  }
};

}  // namespace dptrain::kernels::cpu
