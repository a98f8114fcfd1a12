#pragma once

// Normal noise over [rows, width]. Nothing is kept: the noise is a function of (seed, layer, step, row of the global
// batch, element of the row), so it is the same on any number of replicas; equal to kernels/cpu/noise.h up to the last
// places of logf, cosf and sinf. Asynchronous on the launch's stream; any thread.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/step_state.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

struct Noise {
  float stddev;
  std::uint32_t seed;
  std::uint32_t layer;     ///< tells layers with one seed apart
  std::int64_t first_row;  ///< row 0's place in the global batch
};

/// y = x + stddev n, n as kernels/cpu/noise.h draws it. y == x allowed. `state` is device memory: its step is read when
/// the kernel runs, so that a recorded step draws new numbers each time.
void add_noise(const Launch& at, DType type, const Noise& noise, const StepState* state, const void* x,
               std::int64_t rows, std::int64_t width, void* y);

/// y = x (1 + stddev n), of the same numbers. The gradient is the same pass over dy. y == x allowed.
void multiply_noise(const Launch& at, DType type, const Noise& noise, const StepState* state, const void* x,
                    std::int64_t rows, std::int64_t width, void* y);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
