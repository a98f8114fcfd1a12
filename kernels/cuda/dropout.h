#pragma once

// Inverted dropout over [rows, width]. No mask is kept: it is a function of (seed, layer, step, row of the global
// batch, element of the row), so backward computes it again, and it is the same on any number of replicas and on every
// device; equal bit for bit to kernels/cpu/dropout.h. Asynchronous on the launch's stream; any thread.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"
#include "kernels/step_state.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

struct Dropout {
  float rate;  ///< in [0, 1): the probability to drop; what is kept is multiplied by 1 / (1 - rate)
  std::uint32_t seed;
  std::uint32_t layer;     ///< tells layers with one seed apart
  std::int64_t first_row;  ///< row 0's place in the global batch
};

/// y = x times mask and factor; the gradient is the same pass over dy. y == x allowed. `state` is device memory: its
/// step is the counter of random layers, read when the kernel runs, so that a recorded step draws new numbers each
/// time. Philox counter (row of the global batch, element / 4, step low, step high), key (seed, layer); an element is
/// kept where its uniform number is >= rate.
void dropout_forward(const Launch& at, DType type, const Dropout& dropout, const StepState* state, const void* x,
                     std::int64_t rows, std::int64_t width, void* y);

/// Dropout of whole channels of [rows, positions, channels]: channel c of a row is dropped where dropout_forward()
/// drops element c of a row of `channels` elements. y == x allowed.
void spatial_dropout(const Launch& at, DType type, const Dropout& dropout, const StepState* state, const void* x,
                     std::int64_t rows, std::int64_t positions, std::int64_t channels, void* y);

/// Dropout of what the numbers of `axes` stand for, as kernels::cpu::spread_dropout. y == x allowed.
void spread_dropout(const Launch& at, DType type, const Dropout& dropout, const SpreadAxes& axes,
                    const StepState* state, const void* x, std::int64_t rows, void* y);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
