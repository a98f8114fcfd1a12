#pragma once

// Inverted dropout over [rows, width]. No mask is kept: it is a function of (seed, layer, step, row of the global
// batch, element of the row), so backward computes it again, and it is the same on any number of replicas and threads.
// May be called from any thread; work is shared among the caller's threads.

#include <cstdint>

#include "kernels/cpu/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

struct Dropout {
  float rate;  ///< in [0, 1): the probability to drop; what is kept is multiplied by 1 / (1 - rate)
  uint32_t seed;
  uint32_t layer;     ///< tells layers with one seed apart
  uint64_t step;      ///< number of the optimizer step
  int64_t first_row;  ///< row 0's place in the global batch
};

/// Philox counter (row of the global batch, element / 4, step low, step high), key (seed, layer); an element is kept
/// where its uniform number is >= rate. y == x allowed.
void dropout_forward(const Launch&, DType, const Dropout& dropout, const float* x, int64_t rows, int64_t width,
                     float* y);

/// dx = dy times the same mask and factor; dx == dy allowed.
void dropout_backward(const Launch&, DType, const Dropout& dropout, const float* dy, int64_t rows, int64_t width,
                      float* dx);

/// Dropout of whole channels of [rows, positions, channels]: channel c of a row is dropped where dropout_forward drops
/// element c of a row of `channels` elements. The gradient is the same pass over dy. `factors`: room for rows *
/// channels floats. y == x allowed.
void spatial_dropout(const Launch&, DType, const Dropout& dropout, const float* x, int64_t rows, int64_t positions,
                     int64_t channels, float* factors, float* y);

/// Dropout of what the numbers of `axes` stand for: number k of a row drops where dropout_forward drops element k of a
/// row of `axes.numbers` elements; with `one_row` as in row 0 of the whole data, whatever first_row is. The gradient is
/// the same pass over dy. `factors`: room for rows * axes.numbers floats. y == x allowed.
void spread_dropout(const Launch&, DType, const Dropout& dropout, const SpreadAxes& axes, const float* x, int64_t rows,
                    float* factors, float* y);

}  // namespace dptrain::kernels::cpu
