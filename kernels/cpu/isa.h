#pragma once

// What the machine's vector unit is and what it can do at most, for `dptrain devices` and the fraction of the peak in
// `dptrain bench --layers`; and how to keep the kernels to less.

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

}  // namespace dptrain::kernels::cpu
