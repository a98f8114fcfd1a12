#pragma once

// How kernels share work among the OpenMP threads of the calling thread: the only file that knows OpenMP. Threads of
// the house set their number with set_thread_count(); kernels never ask for it. Work is cut into pieces of a fixed
// size, never into as many pieces as there are threads, so results do not depend on the number of threads.

#include <algorithm>
#include <cstdint>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace dptrain::kernels::cpu {

/// Elements in a piece of an elementwise pass: 64 KiB of floats, a few microseconds, large against handing it out.
inline constexpr int64_t kPieceElements = 16384;

/// The most pieces a reduction is cut into: bounds the room for the partial results.
inline constexpr int64_t kMaxPartials = 64;

/// Sets the number of OpenMP threads that work shared by the calling thread is done with, its own included.
inline void set_thread_count(int threads) {
#if defined(_OPENMP)
  omp_set_num_threads(threads);
#else
  static_cast<void>(threads);
#endif
}

/// That number for the calling thread: what room that each of them needs is multiplied with.
inline int thread_count() {
#if defined(_OPENMP)
  return omp_get_max_threads();
#else
  return 1;
#endif
}

/// Calls f(piece, slot) once for each piece in [0, pieces), in any order; returns when all are done. Calls with the same
/// `slot`, in [0, thread_count()), never overlap: a piece may use the slot's room, and must not depend on what others
/// left there. Pieces are handed out one by one, so a thread that is held up costs what it does not do.
/// `f` must not throw.
template <class F>
void parallel_slots(int64_t pieces, const F& f) {
#if defined(_OPENMP)
  if (pieces > 1 && omp_get_max_threads() > 1) {
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t piece = 0; piece < pieces; ++piece) f(piece, omp_get_thread_num());
    return;
  }
#endif
  for (int64_t piece = 0; piece < pieces; ++piece) f(piece, 0);
}

/// Calls f(piece) once for each piece in [0, pieces), on any thread and in any order; returns when all are done.
/// `f` must not throw.
template <class F>
void parallel_for(int64_t pieces, const F& f) {
#if defined(_OPENMP)
  if (pieces > 1 && omp_get_max_threads() > 1) {
#pragma omp parallel for schedule(static)
    for (int64_t piece = 0; piece < pieces; ++piece) f(piece);
    return;
  }
#endif
  for (int64_t piece = 0; piece < pieces; ++piece) f(piece);
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
