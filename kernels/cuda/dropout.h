#pragma once

// Inverted dropout over [rows, width]. The mask is a function of (seed, layer, step, row of the global batch, element),
// so backward recomputes it. It has the same bits on any number of replicas and on all devices.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"
#include "kernels/step_state.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

struct Dropout {
  float rate;  ///< in [0, 1): probability to drop; other values are multiplied by 1 / (1 - rate)
  std::uint32_t seed;
  std::uint32_t layer;     ///< distinguishes layers with the same seed
  std::int64_t first_row;  ///< index of row 0 in the global batch
};

/// y = x times mask and factor; y == x allowed. The gradient is the same pass over dy. `state` is device memory; its
/// step is read when the kernel runs, so that a replayed step draws new numbers. Philox counter: (row of the global
/// batch, element / 4, step low, step high), key: (seed, layer). An element is kept if its uniform number is >= rate.
void dropout_forward(const Launch& at, DType type, const Dropout& dropout, const StepState* state, const void* x,
                     std::int64_t rows, std::int64_t width, void* y);

/// Dropout of whole channels of [rows, positions, channels]: drops channel c of a row if dropout_forward() drops
/// element c of a row of `channels` elements. y == x allowed.
void spatial_dropout(const Launch& at, DType type, const Dropout& dropout, const StepState* state, const void* x,
                     std::int64_t rows, std::int64_t positions, std::int64_t channels, void* y);

/// Dropout along broadcast `axes`, as kernels::cpu::broadcast_dropout. y == x allowed.
void broadcast_dropout(const Launch& at, DType type, const Dropout& dropout, const BroadcastAxes& axes,
                       const StepState* state, const void* x, std::int64_t rows, void* y);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
