#pragma once

// A pass over positions (pixels of all images, rows of a matrix) that another kernel runs piece by piece on what it has
// just made or is about to read, so that the values are in the caches. Pieces are disjoint and cover all positions.
// Those within one step come in order, from one thread; else in any order, from any of the caller's threads, several at
// a time. Plain data; what it points to is the caller's.

#include <cstdint>

namespace dptrain::kernels::cpu {

struct PiecePass {
  /// What the pass reads of every position, to be fetched ahead.
  struct Array {
    const float* values = nullptr;  ///< [positions, width]; null: there is none
    int64_t width = 0;
  };
  static constexpr int kArrays = 3;

  int64_t step = 1;  ///< positions; a piece lies within one step or is of whole steps (the last one may be short)
  const void* pass = nullptr;  ///< the first argument of run
  /// Positions [begin, end), whose values stand at `values`, [end - begin, width]. In front of a kernel it makes them,
  /// there and in the tensor; behind one it may change them, and they go to the tensor then. Must not throw.
  void (*run)(const void* pass, float* values, int64_t begin, int64_t end) = nullptr;
  Array arrays[kArrays] = {};

  void operator()(float* values, int64_t begin, int64_t end) const { run(pass, values, begin, end); }
};

}  // namespace dptrain::kernels::cpu
