#pragma once

// Recurrent layers: what each step does with the sums of its gates, whose products are made elsewhere. One call is one
// step of all rows. Activations, states that products read, sums and their gradients are of `type`; c and the gradients
// of states are float. Asynchronous on the launch's stream; any thread. Everything written is overwritten.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/activation_kind.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// What all cells and steps have in common. Steps stand at their place in time, whatever the order in which they are
/// taken, but for outputs. Gates stand beside each other, or, by_gate, each by itself: sums are [rows, steps, gates *
/// units] or [gates, rows, steps, units], those of one step [rows, gates * units] or [gates, rows, units].
struct RecurrentSteps {
  std::int64_t rows = 0, steps = 0, units = 0, gates = 1;
  bool backwards = false;  ///< takes the last step first
  bool by_gate = false;
  bool sequences = false;  ///< outputs are [rows, steps, units] in the order of the steps, else [rows, units]
  const std::uint8_t* mask = nullptr;    ///< [rows, steps]: 0 where a step is left out; null: none is
  const std::int32_t* begins = nullptr;  ///< find_begins(); null without a mask
  Activation activation = Activation::kTanh, recurrent_activation = Activation::kSigmoid;
};

/// begins[row] = the number of the first step that the row takes; `steps` where it takes none.
void find_begins(const Launch& at, const RecurrentSteps& steps, std::int32_t* begins);

/// Recurrent dropout: operands[gate, row, unit] = h[row, unit] factors[gate, row, unit].
void drop_state(const Launch& at, DType type, const RecurrentSteps& steps, const void* h, const void* factors,
                void* operands);

/// After the products of a step's gradients with the recurrent kernel, [rows, units] or [gates, rows, units]: dh [rows,
/// units] becomes their sum, with recurrent dropout each times its factors, where the row has taken step number s;
/// `add`: the sum is added to it.
void collect_state_gradient(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                            const void* products, const void* factors, bool add, float* dh);

struct SimpleRnnStep {
  void* sums;            ///< of all steps: x K + b
  const void* products;  ///< of this step: h U
  void* h;               ///< [rows, units], in and out
  void* hidden;          ///< [rows, steps, units]: h before the step; null: not wanted
  float* squashed;       ///< [rows, steps, units]: h' before it is rounded; null: not wanted
  void* y;               ///< null: not wanted
};
void simple_rnn_step_forward(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                             const SimpleRnnStep& step);

struct SimpleRnnStepBack {
  void* sums;             ///< out: d z
  const float* squashed;  ///< as forward left it
  const void* dy;         ///< null: zero
  float* dh;              ///< behind the step, with dy's part of it when the call is done
  void* dz;               ///< of this step, for the product
};
void simple_rnn_step_backward(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                              const SimpleRnnStepBack& step);

struct LstmStep {
  void* gates;           ///< of all steps: x K + b in, the activated i, f, c, o out; backward: d z
  const void* products;  ///< of this step: h U
  void* h;               ///< [rows, units], in and out
  float* c;              ///< the same
  void* hidden;          ///< [rows, steps, units]: h before the step; null: not wanted
  float* cell;           ///< [rows, steps, units]: c behind the step; null: not wanted
  float* squashed;       ///< [rows, steps, units]: activation(c); null: not wanted
  void* y;               ///< null: not wanted
};
void lstm_step_forward(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s, const LstmStep& step);

struct LstmStepBack {
  void* gates;                   ///< as forward left them; out: d z
  const float *cell, *squashed;  ///< as forward left them
  const float* c0;               ///< null: zeros
  const void* dy;                ///< null: zero
  float *dh, *dc;                ///< behind the step; dc out: before it
  void* dz;                      ///< of this step, for the product
};
void lstm_step_backward(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                        const LstmStepBack& step);

/// GRU: its gates are opened, then the candidate is mixed with the state; between the two lies, without reset_after,
/// the product of r h. Then the sums stand by_gate.
struct GruStep {
  bool reset_after;
  void* gates;           ///< of all steps: x K + b in, the activated z, r and candidate out
  const void* products;  ///< of this step: h U
  const void* bias;      ///< [3 units], of h U; null: none
  void* h;               ///< [rows, units], in and out
  void* hidden;          ///< [rows, steps, units]: h before the step; null: not wanted
  void* inner;           ///< [rows, steps, units]: with reset_after h U_h + b_h, else r h; null: not wanted
  void* reset;           ///< [rows, units]: the same of this step
  const void* factors;   ///< without reset_after and with recurrent dropout: of the candidate's gate, [rows, units]
  void* operand;         ///< reset times factors, where there are some
  void* y;               ///< null: not wanted
};
void gru_step_open(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s, const GruStep& step);
/// Without reset_after step.products is the product of r h alone, [rows, units].
void gru_step_mix(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s, const GruStep& step);

struct GruStepBack {
  bool reset_after;
  void* gates;                 ///< as forward left them; out: their d z
  const void *hidden, *inner;  ///< as forward left them
  const void* dy;              ///< null: zero
  float* dh;                   ///< behind the step; out: its parts by z (and r) h
  float* of_z;                 ///< [rows, units]: between the two passes
  void* dz;                    ///< of this step, for the product of all gates
  void* recurrent;             ///< with reset_after: gradients of h U + b of all steps, as gates
  const void* products;        ///< without reset_after: candidate's d z U_h', [rows, units]
  const void* factors;         ///< its recurrent dropout; null: none
  void* candidate;             ///< without reset_after: the candidate's d z of this step, [rows, units]
};
void gru_step_unmix(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s, const GruStepBack& step);
void gru_step_close(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s, const GruStepBack& step);

// Order of the steps of recurrent layers: frames by row and by step (FramesShape), both directions of a bidirectional
// layer. An output must not be an input. Elements of by_step that belong to no frame are not written.

void frames_by_step(const Launch& at, DType type, const FramesShape& shape, const void* by_row, void* by_step);
void frames_by_row(const Launch& at, DType type, const FramesShape& shape, const void* by_step, void* by_row);

/// Merges the outputs of both directions.
void merge_directions(const Launch& at, DType type, const DirectionShape& shape, const void* forward,
                      const void* backward, void* y);
/// The gradients of both from that of y. `forward` and `backward` are read by products alone.
void split_directions(const Launch& at, DType type, const DirectionShape& shape, const void* dy, const void* forward,
                      const void* backward, void* d_forward, void* d_backward);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
