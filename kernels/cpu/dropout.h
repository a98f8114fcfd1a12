#pragma once

// Inverted dropout over [rows, width]. The mask is a function of (seed, layer, step, row of the global batch, element
// of the row). It is not stored, and does not depend on the number of replicas. Conventions: parallel.h.

#include <cstdint>

#include "kernels/cpu/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

struct Dropout {
  float rate;  ///< probability to drop, in [0, 1); kept elements are multiplied by 1 / (1 - rate)
  uint32_t seed;
  uint32_t layer;     ///< distinguishes layers with the same seed
  uint64_t step;      ///< number of the optimizer step
  int64_t first_row;  ///< index of row 0 in the global batch
};

/// Philox counter (row of the global batch, element / 4, step low, step high), key (seed, layer). An element is kept if
/// its uniform number is >= rate. y == x is allowed.
void dropout_forward(const Launch&, DType, const Dropout& dropout, const float* x, int64_t rows, int64_t width,
                     float* y);

/// dx = dy times the same mask and factor; dx == dy is allowed.
void dropout_backward(const Launch&, DType, const Dropout& dropout, const float* dy, int64_t rows, int64_t width,
                      float* dx);

/// Dropout of whole channels of [rows, positions, channels]: channel c of a row is dropped if dropout_forward drops
/// element c of a row of `channels` elements. The gradient is the same pass over dy. `factors`: scratch, [rows,
/// channels]. y may be x.
void spatial_dropout(const Launch&, DType, const Dropout& dropout, const float* x, int64_t rows, int64_t positions,
                     int64_t channels, float* factors, float* y);

/// Dropout with `axes.numbers` factors per row, broadcast by `axes`: factor k is 0 if dropout_forward drops element k
/// of a row of `axes.numbers` elements; with `one_row`, of row 0 of the global batch, regardless of first_row. The
/// gradient is the same pass over dy. `factors`: scratch, [rows, axes.numbers]. y may be x.
void broadcast_dropout(const Launch&, DType, const Dropout& dropout, const BroadcastAxes& axes, const float* x,
                       int64_t rows, float* factors, float* y);

}  // namespace dptrain::kernels::cpu
