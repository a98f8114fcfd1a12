#pragma once

// A pass over positions (pixels of all images, rows of a matrix) that another kernel runs piece by piece: in front of
// reading them or behind having written them, so that they are still in the caches. Pieces are disjoint and cover all
// positions. Those within one step come in order, from one thread; else in any order, from any of the caller's threads,
// several at a time. Plain data; what it points to is the caller's.

#include <cstdint>

namespace dptrain::kernels::cpu {

struct PiecePass {
  int64_t step = 1;  ///< positions; a piece lies within one step or is of whole steps (the last one may be short)
  const void* pass = nullptr;                                           ///< the first argument of run
  void (*run)(const void* pass, int64_t begin, int64_t end) = nullptr;  ///< positions [begin, end); must not throw
  /// In front: what the pass reads, each [positions, channels of x] or null. Who runs it may fetch what it reads next.
  const float* reads[2] = {};

  void operator()(int64_t begin, int64_t end) const { run(pass, begin, end); }
};

}  // namespace dptrain::kernels::cpu
