#pragma once

// The vector unit, its peak (for `dptrain devices` and `bench --layers`), and a limit on the instruction sets.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// Name of the instruction set that the kernels use on this machine: "AVX2", "AVX-512".
const char* isa_name();

/// Later calls of kernels use no better instruction set. Call it before other threads run kernels.
enum class IsaLimit { kSse4, kAvx2 };
void limit_isa(IsaLimit limit);

int isa_vector_floats();

/// Peak of the calling thread in GFLOP/s (a fused multiply-add counts 2), best of several runs, about 20 ms in all.
double measure_fma_peak_gflops();

/// As above, for all threads of the calling thread together, all busy: cores share a clock, some share a core.
double measure_fma_peak_gflops_of_all_threads();

/// GB/s of all threads together, from a cache or memory.
struct Bandwidth {
  double read = 0;    ///< reading
  double update = 0;  ///< updating in place; counts the read and the write
};

/// All threads of the calling thread pass over their own floats at once. Takes the best of many short runs, 20 ms for
/// each rate, up to 100 ms on a busy machine. Overwrites `memory`, thread_count() * floats floats, aligned to 64 bytes;
/// the first touch places parts near threads. `floats` is a multiple of 512; more than 2^20 are processed in parts.
Bandwidth measure_bandwidth(float* memory, int64_t floats);

}  // namespace dptrain::kernels::cpu
