#pragma once

// Which of Highway's instruction sets the kernels are compiled for: included before any header of Highway. On x86-64
// these are AVX-512, AVX2 and SSE2, which every such processor has; SSSE3 and SSE4 would help only processors of
// before 2013, and each costs a quarter of the compilation. Vectors without a size known to the compiler (SVE, RISC-V)
// cannot stand in arrays, as the kernels have them; such machines take NEON.

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
