#pragma once

// Thread pool for parallel loops; kernels use it through parallel.h. Each thread that calls set_thread_count() owns its
// helper threads until it sets another number or ends; callers share nothing. The caller takes part. Threads take
// pieces one at a time, so a delayed thread delays only its piece, and begin with a range of their own, which is likely
// in their core's caches. Helpers without a piece are not woken. A waiting thread spins for some microseconds, then
// sleeps, so that the scheduler can use its core.
//
// With libgomp's pool instead, whose barriers spin longer, fit takes 1.15 (ResNet-50) to 2.07 times as long
// (configs/bench/fashion_cnn.yaml) on a machine that other processes use, too.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// Sets the number of threads (>= 1, initially 1) for loops of the calling thread, which is one of them. Starts or ends
/// helpers. Throws std::system_error if no thread can be started. Not from within a piece.
void set_thread_count(int threads);

/// The calling thread's number of threads, by which per-thread workspaces are multiplied.
int thread_count() noexcept;

/// Whether the calling thread is running a piece. Nested loops run on this thread alone.
bool inside_piece() noexcept;

/// Runs one piece of `work`; must not throw.
using PieceFunction = void (*)(const void* work, int64_t piece, int slot);

/// Calls function(work, piece, slot) once for each piece in [0, pieces), in any order; returns when all are done. Calls
/// with the same `slot` in [0, thread_count()) never overlap; the caller has slot 0. Pieces may wait for each other if
/// there are at most as many as threads. Does not allocate.
void run_pieces(int64_t pieces, PieceFunction function, const void* work) noexcept;

}  // namespace dptrain::kernels::cpu
