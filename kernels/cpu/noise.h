#pragma once

// Normal noise over [rows, width]: a function of (seed, layer, step, row of the global batch, element of the row),
// which does not depend on the number of replicas. Conventions: parallel.h.

#include <cstdint>

#include "kernels/cpu/launch.h"

namespace dptrain::kernels::cpu {

struct Noise {
  float stddev;
  uint32_t seed;
  uint32_t layer;     ///< distinguishes layers with the same seed
  uint64_t step;      ///< number of the optimizer step
  int64_t first_row;  ///< index of row 0 in the global batch
};

/// y = x + stddev n. Philox counter (row of the global batch, element / 4, step low, step high), key (seed, layer);
/// words 0 and 1 determine elements 0 and 1 of the four, words 2 and 3 the others (kernels/normal_pair.h). y may be x.
void add_noise(const Launch&, DType, const Noise& noise, const float* x, int64_t rows, int64_t width, float* y);

/// y = x (1 + stddev n), with the same random numbers. The gradient is the same pass over dy. y == x is allowed.
void multiply_noise(const Launch&, DType, const Noise& noise, const float* x, int64_t rows, int64_t width, float* y);

}  // namespace dptrain::kernels::cpu
