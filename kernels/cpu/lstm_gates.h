#pragma once

// One step of an LSTM whose products are made elsewhere. May be called from any thread; work is shared among the
// caller's threads. Each number is computed by itself, so results depend on nothing but the inputs.

#include <cstdint>

#include "kernels/activation_kind.h"

namespace dptrain::kernels::cpu {

/// Rows of four gates, i, f, c and o, of `units` each. Both activations have has_gradient_from_output, not over rows.
struct LstmGates {
  int64_t rows, units;
  Activation activation, recurrent_activation;
};

struct LstmGatesForward {
  float* gates;                ///< [rows, 4 units]: x K + b in, the activated gates out
  const float* products;       ///< [rows, 4 units]: h U
  float *h, *c;                ///< [rows, units]: h out, c in and out
  float *cell, *squashed, *y;  ///< [rows, units]: c, activation(c) and h once more; null: not wanted
};
void lstm_gates_forward(const LstmGates& shape, const LstmGatesForward& pass);

struct LstmGatesBackward {
  float* gates;                         ///< the activated gates in, the gradients of their sums out
  const float *before, *squashed, *dy;  ///< c before the step, null: zeros; activation(c); null dy: zero
  float *dh, *dc;                       ///< behind the step; dh with dy's part out, dc before the step out
};
void lstm_gates_backward(const LstmGates& shape, const LstmGatesBackward& pass);

}  // namespace dptrain::kernels::cpu
