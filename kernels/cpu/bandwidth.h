#pragma once

// How fast the vector unit reaches what lies in a cache or in memory, for `dptrain devices` and the bounds of `dptrain
// bench --layers`.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// Bytes per second times 1e-9, of all threads together.
struct Bandwidth {
  double read = 0;    ///< what is only read
  double update = 0;  ///< what is read and written again in its place; both ways count
};

/// Each thread of the calling thread passes over floats of its own again and again, all at once: the best of many
/// short runs, 20 ms of them for each rate, up to 100 ms on a busy machine. `memory` has thread_count() * floats
/// floats, aligned to 64 bytes, and is overwritten; best not touched before, for then each part lies near the thread
/// that uses it. `floats` is a multiple of 512; more than 2^20 of them are gone through piece by piece.
Bandwidth measure_bandwidth(float* memory, int64_t floats);

}  // namespace dptrain::kernels::cpu
