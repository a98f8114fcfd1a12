#pragma once

// Normal noise over [rows, width]. Nothing is kept: the noise is a function of (seed, layer, step, row of the global
// batch, element of the row), so it is the same on any number of replicas and threads. May be called from any thread;
// work is shared among the caller's threads.

#include <cstdint>

#include "kernels/cpu/launch.h"

namespace dptrain::kernels::cpu {

struct Noise {
  float stddev;
  uint32_t seed;
  uint32_t layer;     ///< tells layers with one seed apart
  uint64_t step;      ///< number of the optimizer step
  int64_t first_row;  ///< row 0's place in the global batch
};

/// y = x + stddev n. Philox counter (row of the global batch, element / 4, step low, step high), key (seed, layer);
/// words 0 and 1 give the numbers of elements 0 and 1 of the four, words 2 and 3 the others (kernels/normal_pair.h). y
/// == x allowed.
void add_noise(const Launch&, DType, const Noise& noise, const float* x, int64_t rows, int64_t width, float* y);

/// y = x (1 + stddev n), of the same numbers. The gradient is the same pass over dy. y == x allowed.
void multiply_noise(const Launch&, DType, const Noise& noise, const float* x, int64_t rows, int64_t width, float* y);

}  // namespace dptrain::kernels::cpu
