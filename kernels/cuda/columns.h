#pragma once

// Distributes [positions, channels] over threads. A thread processes V adjacent channels at positions with a constant
// step, so per-channel values stay in registers. Only for .cu files.

#include "kernels/cuda/lanes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// A block of kBlock threads covers `tile` columns (of V channels) times kBlock / tile positions. Block b processes
/// piece b / tiles of the positions and tile b % tiles of the columns.
struct ColumnCover {
  std::int64_t positions, channels;
  std::int64_t piece;  ///< consecutive positions per block; the last piece may be shorter
  std::int64_t tiles;
  std::int64_t most_pieces;  ///< upper bound of pieces(); does not decrease with positions
  int tile;                  ///< a power of two up to a warp

  std::int64_t pieces() const { return (positions + piece - 1) / piece; }
  unsigned blocks() const { return static_cast<unsigned>(pieces() * tiles); }
};

/// Threads of a full piece have at least `per_thread` positions. The number of blocks is about `most_blocks` at most.
inline ColumnCover cover_columns(std::int64_t positions, std::int64_t channels, int v, std::int64_t per_thread,
                                 std::int64_t most_blocks) {
  const std::int64_t columns = (channels + v - 1) / v;
  ColumnCover cover{.positions = positions, .channels = channels, .piece = 0, .tiles = 0, .most_pieces = 0, .tile = 1};
  while (cover.tile < 32 && cover.tile < columns) cover.tile *= 2;
  cover.tiles = (columns + cover.tile - 1) / cover.tile;
  const std::int64_t most = std::max<std::int64_t>(1, most_blocks / cover.tiles);
  const std::int64_t least_piece = per_thread * (kBlock / cover.tile);
  cover.piece = std::max(least_piece, (positions + most - 1) / most);
  cover.most_pieces = std::min(most, (positions + least_piece - 1) / least_piece);
  return cover;
}

/// A thread's share: V channels from `column` (none if column >= channels) of positions first, first + step, ... < end.
struct ColumnPlace {
  std::int64_t column, first, end, step;
};

template <int V>
__device__ inline ColumnPlace place_of(const ColumnCover& cover) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread / cover.tile;
  const Split block = split(blockIdx.x, cover.tiles);
  const std::int64_t begin = block.quotient * cover.piece, end = begin + cover.piece;
  return {.column = (block.remainder * cover.tile + thread % cover.tile) * V,
          .first = begin + lane,
          .end = end < cover.positions ? end : cover.positions,
          .step = kBlock / cover.tile};
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
