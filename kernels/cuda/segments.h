#pragma once

// Segments of an arena, cut into pieces with one block each; the cut depends only on the sizes. Only for .cu files.

#include <algorithm>

#include "kernels/cuda/flat.h"
#include "kernels/cuda/optimizer.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Floats per piece, and maximum pieces per segment and arena: enough for a large GPU, few enough for one block to add.
inline constexpr std::int64_t kPieceFloats = 16 * kBlock;
inline constexpr std::int64_t kSegmentPieces = 64, kArenaPieces = 512;

inline std::int64_t pieces_for(std::int64_t longest, std::int64_t most) {
  return std::clamp<std::int64_t>((longest + kPieceFloats - 1) / kPieceFloats, 1, most);
}

struct Whole {
  std::int64_t n;
  __device__ Segment segment(std::int64_t) const { return {0, n}; }
};

template <class T>
struct Rows {
  const T* rows;
  __device__ T segment(std::int64_t i) const { return rows[i]; }
};

/// Work of a launch over segments: block b processes piece b % pieces of segment b / pieces.
template <class Segments>
struct Cut {
  Segments segments;
  std::int64_t pieces;
  __device__ std::int64_t row() const { return blockIdx.x / pieces; }
  __device__ Piece piece() const {
    const auto segment = segments.segment(row());
    return piece_of(segment.offset, segment.length, blockIdx.x % pieces, pieces);
  }
};

template <class T>
Cut<Rows<T>> cut_table(const Table<T>& table) {
  return {{table.rows}, pieces_for(table.longest, kSegmentPieces)};
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
