#pragma once

// The threads that share a thread's work: the only owner of threads in kernels/cpu, behind parallel.h. Each thread that
// calls set_thread_count() has helpers of its own, which live until it sets another number or ends; nothing is shared
// between callers. Work is taken piece by piece and the caller takes part, so a thread that the system holds up costs
// what it does not do, and helpers that come late are not waited for. Each thread begins with a part of the pieces that
// is its own: it finds in its core's caches what it wrote in the kernel before. Helpers for which there is no piece are
// left alone. Who waits spins for some microseconds, then sleeps: a core that sleeps is one to which the system can
// move a thread that shares its core with a stranger.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// Sets the number of threads (>= 1) that work shared by the calling thread is done with, its own included; 1 until
/// then. Starts or ends helpers. Throws std::system_error where the system gives no thread. Not from within a piece.
void set_thread_count(int threads);

/// That number for the calling thread: what room that each of them needs is multiplied with.
int thread_count() noexcept;

/// Whether the calling thread is at work on a piece: work that it shares then is done by itself alone.
bool inside_piece() noexcept;

/// Does one piece of `work`; must not throw.
using PieceFunction = void (*)(const void* work, int64_t piece, int slot);

/// Calls function(work, piece, slot) once for each piece in [0, pieces), in any order; returns when all are done. Calls
/// with the same `slot` in [0, thread_count()) never overlap; the caller's is 0. Pieces may wait for one another if
/// there are no more of them than threads. Allocates nothing.
void run_pieces(int64_t pieces, PieceFunction function, const void* work) noexcept;

}  // namespace dptrain::kernels::cpu
