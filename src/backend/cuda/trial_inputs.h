#pragma once

// The inputs with which the tuner compares engines. Compiled for CUDA, and in tests for the emulator.

#include <cstdint>

#include "kernels/cuda/noise.h"

namespace dptrain::backend::cuda {

/// Sets x, whose bytes must be zero, to normal random numbers that differ between positions and between tensors. With a
/// standard deviation of 0.5, a sum of 10^8 products does not overflow in float16. `state`: a StepState of zeros.
inline void randomize(const kernels::DPTRAIN_BACKEND::Launch& at, DType type, std::uint32_t tensor,
                      const kernels::StepState* state, void* x, std::int64_t elements) {
  kernels::DPTRAIN_BACKEND::add_noise(at, type, {.stddev = 0.5F, .seed = 1, .layer = tensor, .first_row = 0}, state, x,
                                      1, elements, x);
}

}  // namespace dptrain::backend::cuda
