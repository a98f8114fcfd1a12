#pragma once

// One step of an LSTM without its matrix products. Each number is computed independently. Conventions: parallel.h.

#include <cstdint>

#include "kernels/activation_kind.h"

namespace dptrain::kernels::cpu {

/// Rows of four gates, i, f, c and o, of `units` each. Both activations are element-wise with has_gradient_from_output.
struct LstmGates {
  int64_t rows, units;
  Activation activation, recurrent_activation;
};

struct LstmGatesForward {
  float* gates;                ///< [rows, 4 units]: x K + b in, activated gates out
  const float* products;       ///< [rows, 4 units]: h U
  float *h, *c;                ///< [rows, units]: h out, c in and out
  float *cell, *squashed, *y;  ///< [rows, units]: copies of c, activation(c) and h; null: not written
};
void lstm_gates_forward(const LstmGates& shape, const LstmGatesForward& pass);

struct LstmGatesBackward {
  float* gates;                         ///< activated gates in, gradients of their sums out
  const float *before, *squashed, *dy;  ///< c before the step, null: zeros; activation(c); null dy: zeros
  float *dh, *dc;                       ///< gradients after the step in; dh + dy and dc before the step out
};
void lstm_gates_backward(const LstmGates& shape, const LstmGatesBackward& pass);

}  // namespace dptrain::kernels::cpu
