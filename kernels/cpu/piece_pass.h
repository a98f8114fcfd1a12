#pragma once

// A pass over positions (pixels of all images, rows of a matrix) that another kernel calls piece by piece. The kernel
// calls it just before it reads a piece, or just after it has written one, while the piece is in the caches. Pieces are
// disjoint and cover all positions. Pieces within a step run in order on one thread; others in any order, concurrently.
// Does not own what it points to.

#include <cstdint>

namespace dptrain::kernels::cpu {

struct PiecePass {
  int64_t step = 1;            ///< positions; a piece is part of one step, or whole steps (the last one may be short)
  const void* pass = nullptr;  ///< first argument of run
  void (*run)(const void* pass, int64_t begin, int64_t end) = nullptr;  ///< positions [begin, end); must not throw
  /// Inputs of a prologue, each [positions, channels of x] or null: the caller may prefetch them.
  const float* reads[2] = {};

  void operator()(int64_t begin, int64_t end) const { run(pass, begin, end); }
};

}  // namespace dptrain::kernels::cpu
