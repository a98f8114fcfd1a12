#pragma once

// How kernels share work among the threads of the calling thread (thread_pool.h), which sets their number with
// set_thread_count(). Work is cut into pieces of a fixed size, not into one piece per thread. So results depend neither
// on the number of threads nor on which thread computes a piece.
//
// Conventions of the headers that refer to this one, unless they state otherwise: a kernel may be called from any
// thread and shares its work this way. It overwrites its outputs, which are not inputs. Sizes of workspaces are in
// floats.

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/thread_pool.h"

namespace dptrain::kernels::cpu {

/// Elements of a piece of an element-wise pass: 64 KiB of floats, a few microseconds, long compared with scheduling it.
inline constexpr int64_t kPieceElements = 16384;

/// Maximum number of pieces of a reduction: bounds the memory for partial results.
inline constexpr int64_t kMaxPartials = 64;

/// Calls f(piece, slot) once for each piece in [0, pieces), in any order; returns when all are done. Calls with the
/// same `slot`, in [0, thread_count()), never overlap: a piece may use the scratch memory of its slot, with undefined
/// contents. Threads take one piece at a time, so a delayed thread delays only its piece. `f` must not throw.
template <class F>
void parallel_slots(int64_t pieces, const F& f) {
  run_pieces(
      pieces, [](const void* work, int64_t piece, int slot) { (*static_cast<const F*>(work))(piece, slot); }, &f);
}

/// Calls f(piece) once for each piece in [0, pieces), in any order; returns when all are done. `f` must not throw.
template <class F>
void parallel_for(int64_t pieces, const F& f) {
  run_pieces(
      pieces, [](const void* work, int64_t piece, int) { (*static_cast<const F*>(work))(piece); }, &f);
}

/// Calls f(begin, end) for consecutive ranges of `size` (the last may be shorter) that cover [0, count).
template <class F>
void parallel_ranges(int64_t count, int64_t size, const F& f) {
  parallel_for((count + size - 1) / size, [&](int64_t piece) { f(piece * size, std::min(count, (piece + 1) * size)); });
}

/// Rows of a piece of a pass over [rows, width], so that a piece has about kPieceElements.
constexpr int64_t rows_per_piece(int64_t width) {
  return std::max<int64_t>(1, kPieceElements / std::max<int64_t>(1, width));
}

/// Rows of a piece of a reduction over [rows, width]: as rows_per_piece, but with at most kMaxPartials pieces.
constexpr int64_t rows_per_partial(int64_t rows, int64_t width) {
  return std::max(rows_per_piece(width), (rows + kMaxPartials - 1) / kMaxPartials);
}

/// Number of pieces of `size` that cover `count`.
constexpr int64_t pieces_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

}  // namespace dptrain::kernels::cpu
