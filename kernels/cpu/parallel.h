#pragma once

// How kernels share work among the threads of the calling thread (thread_pool.h). Threads of the house set their number
// with set_thread_count(); kernels never ask for it. Work is cut into pieces of a fixed size, never into as many pieces
// as there are threads, so results do not depend on the number of threads nor on who did which piece.

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/thread_pool.h"

namespace dptrain::kernels::cpu {

/// Elements in a piece of an elementwise pass: 64 KiB of floats, a few microseconds, large against handing it out.
inline constexpr int64_t kPieceElements = 16384;

/// The most pieces a reduction is cut into: bounds the room for the partial results.
inline constexpr int64_t kMaxPartials = 64;

/// Calls f(piece, slot) once for each piece in [0, pieces), in any order; returns when all are done. Calls with the
/// same `slot`, in [0, thread_count()), never overlap: a piece may use the slot's room, and must not depend on what
/// others left there. Pieces are taken one by one, so a thread that is held up costs what it does not do. `f` must not
/// throw.
template <class F>
void parallel_slots(int64_t pieces, const F& f) {
  run_pieces(
      pieces, [](const void* work, int64_t piece, int slot) { (*static_cast<const F*>(work))(piece, slot); }, &f);
}

/// Calls f(piece) once for each piece in [0, pieces), on any thread and in any order; returns when all are done.
/// `f` must not throw.
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

/// Rows in a piece of a pass over [rows, width], so that a piece holds about kPieceElements.
constexpr int64_t rows_per_piece(int64_t width) {
  return std::max<int64_t>(1, kPieceElements / std::max<int64_t>(1, width));
}

/// Rows in a piece of a reduction over [rows, width]: as rows_per_piece, but never more than kMaxPartials pieces.
constexpr int64_t rows_per_partial(int64_t rows, int64_t width) {
  return std::max(rows_per_piece(width), (rows + kMaxPartials - 1) / kMaxPartials);
}

/// Number of pieces of `size` that cover `count`.
constexpr int64_t pieces_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

}  // namespace dptrain::kernels::cpu
