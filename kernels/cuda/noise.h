#pragma once

// Normal noise over [rows, width], a function of (seed, layer, step, row of the global batch, element): the same on any
// number of replicas. Equals kernels/cpu/noise.h up to the last digits of logf, cosf and sinf.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/step_state.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

struct Noise {
  float stddev;
  std::uint32_t seed;
  std::uint32_t layer;     ///< distinguishes layers with the same seed
  std::int64_t first_row;  ///< index of row 0 in the global batch
};

/// y = x + stddev n; y == x allowed. Reads `state` (device memory) when it runs: a replayed step draws new numbers.
void add_noise(const Launch& at, DType type, const Noise& noise, const StepState* state, const void* x,
               std::int64_t rows, std::int64_t width, void* y);

/// y = x (1 + stddev n), with the same n. The gradient is the same pass over dy. y == x allowed.
void multiply_noise(const Launch& at, DType type, const Noise& noise, const StepState* state, const void* x,
                    std::int64_t rows, std::int64_t width, void* y);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
