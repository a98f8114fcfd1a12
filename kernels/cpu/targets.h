#pragma once

// The instruction sets that Highway compiles the kernels for; include it before any Highway header. x86-64: AVX-512,
// AVX2 and the baseline SSE2; SSSE3 and SSE4 would help only processors from before 2013, each for a quarter of the
// compilation. Kernels keep vectors in arrays: machines with vectors of unknown size (SVE, RISC-V) use NEON.

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
