#pragma once

// How the threads of a grid share out [positions, channels]: each works on V neighbouring channels of every so-manieth
// position, so that what belongs to the channels stays in its registers. Only for .cu files.

#include "kernels/cuda/lanes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// A block of kBlock threads is `tile` columns (of V channels) times kBlock / tile positions; block b works on piece
/// b / tiles of the positions and tile b % tiles of the columns.
struct ColumnCover {
  std::int64_t positions, channels;
  std::int64_t piece;  ///< consecutive positions per block; the last piece may be shorter
  std::int64_t tiles;
  std::int64_t most_pieces;  ///< a bound that never falls when there are more positions
  int tile;                  ///< a power of two up to a warp

  std::int64_t pieces() const { return (positions + piece - 1) / piece; }
  unsigned blocks() const { return static_cast<unsigned>(pieces() * tiles); }
};

/// Pieces give every thread `per_thread` positions at least, and there are about `most_blocks` blocks at most.
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

/// A thread's share: V channels from `column` on (none if that is not below channels) of positions first, first + step,
/// ..., below end.
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
