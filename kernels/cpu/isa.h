#pragma once

// What the machine's vector unit is and what it can do at most, for `dptrain devices` and the fraction of the peak in
// `dptrain bench --layers`; and how to keep the kernels to less.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// Name of the instruction set that the kernels use on this machine, "AVX2", "AVX-512".
const char* isa_name();

/// Kernels use no instruction set beyond this one, from their next call on. Call it before other threads run kernels.
enum class IsaLimit { kSse4, kAvx2 };
void limit_isa(IsaLimit limit);

/// Floats in one vector of that instruction set.
int isa_vector_floats();

/// Measured peak of one thread in GFLOP/s (a fused multiply-add counts 2), best of several runs that take about 20 ms
/// together. Runs on the calling thread.
double measure_fma_peak_gflops();

/// The same of all threads of the calling thread together, each busy at once: cores share a clock, some share a core.
double measure_fma_peak_gflops_side_by_side();

// How fast the vector unit reaches what lies in a cache or in memory.

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
