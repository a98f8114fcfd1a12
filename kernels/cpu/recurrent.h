#pragma once

// Recurrent layers over [rows, steps, ...]. What the inputs give to each step's sums is computed before, for all steps
// at once, and gradients of weights come after, from the sums' gradients of all steps; here the steps are taken one
// after the other. A piece of the work is a block of rows through all steps, whose states stay in the nearest cache and
// the weights in the second: pieces never wait for one another. May be called from any thread; work is shared among the
// caller's threads. Nothing is allocated; results do not depend on the number of threads. Everything written is
// overwritten.

#include <cstdint>

#include "kernels/activation_kind.h"

namespace dptrain::kernels::cpu {

/// What all cells have in common. Steps stand at their place in time, whatever the order in which they are taken, but
/// for `y`.
struct RecurrentSteps {
  int64_t rows = 0, steps = 0, units = 0;
  bool backwards = false;                     ///< takes the last step first
  const uint8_t* mask = nullptr;              ///< [rows, steps]: 0 where a step is left out; null: none is
  const float* state_factors = nullptr;       ///< recurrent dropout: [gates, rows, units], factors of h; null: none
  Activation activation = Activation::kTanh;  ///< both with has_gradient_from_output, not over rows
  Activation recurrent_activation = Activation::kSigmoid;
};

/// What forward keeps for backward.
struct LstmKept {
  float* gates = nullptr;     ///< [rows, steps, 4 units]: z in, the activated i, f, c, o out; backward: d z
  float* hidden = nullptr;    ///< [rows, steps, units]: h before each step (without state_factors); null: not wanted
  float* cell = nullptr;      ///< [rows, steps, units]: c behind each step; null: not wanted
  float* squashed = nullptr;  ///< [rows, steps, units]: activation(c); null: not wanted
};

/// Results: y is [rows, steps, units] in the order of the steps, or [rows, units] of the last one.
struct LstmOutputs {
  bool sequences = false;
  float *y = nullptr, *h = nullptr, *c = nullptr;  ///< h and c at the end; null: not wanted
};
struct LstmGradients {
  bool sequences = false;
  const float *y = nullptr, *h = nullptr, *c = nullptr;  ///< null: zero
  float *h0 = nullptr, *c0 = nullptr;                    ///< results; null: not wanted
};

/// Floats of workspace that both passes want, for at most `threads` threads.
int64_t lstm_workspace(int64_t units, int threads);

/// z in kept.gates holds x K + b. recurrent_kernel: [units, 4 units]; h0, c0: [rows, units], null: zeros.
void lstm_forward(const RecurrentSteps& steps, const float* recurrent_kernel, const float* h0, const float* c0,
                  const LstmKept& kept, const LstmOutputs& out, float* workspace);

/// d z replaces the gates; a step that is left out has zeros.
void lstm_backward(const RecurrentSteps& steps, const float* recurrent_kernel, const float* c0, const LstmKept& kept,
                   const LstmGradients& gradients, float* workspace);

struct GruKept {
  float* gates = nullptr;   ///< [rows, steps, 3 units]: x K + b in, the activated z, r, hh out; backward: their d z
  float* hidden = nullptr;  ///< [rows, steps, units]: h before each step (without state_factors); null: not wanted
  /// [rows, steps, units]: with reset_after h U_h + b_h, else r h (without state_factors); null: not wanted.
  float* inner = nullptr;
};
struct GruOutputs {
  bool sequences = false;
  float *y = nullptr, *h = nullptr;
};
struct GruGradients {
  bool sequences = false;
  const float *y = nullptr, *h = nullptr;
  float* h0 = nullptr;
  /// With reset_after: [rows, steps, 3 units], the gradients of h U + b, of which the third differs from that of x K.
  float* recurrent = nullptr;
};
/// Weights of the state: kernel [units, 3 units], bias [3 units] with reset_after (null: none).
struct GruWeights {
  bool reset_after = true;
  const float *kernel = nullptr, *bias = nullptr;
};

int64_t gru_workspace(int64_t units, int threads);
void gru_forward(const RecurrentSteps& steps, const GruWeights& weights, const float* h0, const GruKept& kept,
                 const GruOutputs& out, float* workspace);
void gru_backward(const RecurrentSteps& steps, const GruWeights& weights, const GruKept& kept,
                  const GruGradients& gradients, float* workspace);

}  // namespace dptrain::kernels::cpu
