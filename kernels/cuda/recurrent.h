#pragma once

// Recurrent layers: the element-wise part of a step of all rows, after the products, which convolutions compute. c and
// gradients of states are float; activations, operands of products, sums and their gradients are of `type`.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/activation_kind.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Arguments of all cells and steps. Arrays over steps are in the order of time, except outputs. Sums are [rows, steps,
/// gates * units] or, by_gate, [gates, rows, steps, units]. Sums of one step have no axis of steps.
struct RecurrentSteps {
  std::int64_t rows = 0, steps = 0, units = 0, gates = 1;
  bool backwards = false;  ///< starts with the last step
  bool by_gate = false;
  bool sequences = false;                ///< outputs are [rows, steps, units] in processing order, else [rows, units]
  const std::uint8_t* mask = nullptr;    ///< [rows, steps]: 0 for skipped steps; null: none
  const std::int32_t* begins = nullptr;  ///< find_begins(); null without a mask
  Activation activation = Activation::kTanh, recurrent_activation = Activation::kSigmoid;
};

/// begins[row] = number of the row's first valid step; `steps` if there is none.
void find_begins(const Launch& at, const RecurrentSteps& steps, std::int32_t* begins);

/// Recurrent dropout: operands[gate, row, unit] = h[row, unit] factors[gate, row, unit].
void drop_state(const Launch& at, DType type, const RecurrentSteps& steps, const void* h, const void* factors,
                void* operands);

/// Sums the products of a step's gradients with the recurrent kernel, [rows, units] or [gates, rows, units], to dh
/// [rows, units] for rows with a valid step s; `add`: adds to dh. Recurrent dropout multiplies by the factors.
void collect_state_gradient(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                            const void* products, const void* factors, bool add, float* dh);

struct SimpleRnnStep {
  void* sums;            ///< all steps: x K + b
  const void* products;  ///< of this step: h U
  void* h;               ///< [rows, units], in and out
  void* hidden;          ///< [rows, steps, units]: h before the step; may be null
  float* squashed;       ///< [rows, steps, units]: h' before rounding; may be null
  void* y;               ///< may be null
};
void simple_rnn_step_forward(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                             const SimpleRnnStep& step);

struct SimpleRnnStepBack {
  void* sums;             ///< out: d z
  const float* squashed;  ///< from forward
  const void* dy;         ///< null: zero
  float* dh;              ///< after the step; out: plus the part of dy
  void* dz;               ///< of this step, for the product
};
void simple_rnn_step_backward(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                              const SimpleRnnStepBack& step);

struct LstmStep {
  void* gates;           ///< all steps: x K + b in, activated i, f, c, o out; backward: d z
  const void* products;  ///< of this step: h U
  void* h;               ///< [rows, units], in and out
  float* c;              ///< as h
  void* hidden;          ///< [rows, steps, units]: h before the step; may be null
  float* cell;           ///< [rows, steps, units]: c after the step; may be null
  float* squashed;       ///< [rows, steps, units]: activation(c); may be null
  void* y;               ///< may be null
};
void lstm_step_forward(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s, const LstmStep& step);

struct LstmStepBack {
  void* gates;                   ///< from forward; out: d z
  const float *cell, *squashed;  ///< from forward
  const float* c0;               ///< null: zeros
  const void* dy;                ///< null: zero
  float *dh, *dc;                ///< after the step; dc out: before it
  void* dz;                      ///< of this step, for the product
};
void lstm_step_backward(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                        const LstmStepBack& step);

/// A GRU step opens the gates, then mixes the candidate with the state. Without reset_after the product of r h is
/// computed between the two, and sums are by_gate.
struct GruStep {
  bool reset_after;
  void* gates;           ///< all steps: x K + b in, activated z, r and candidate out
  const void* products;  ///< of this step: h U
  const void* bias;      ///< [3 units], added to h U; null: none
  void* h;               ///< [rows, units], in and out
  void* hidden;          ///< [rows, steps, units]: h before the step; may be null
  void* inner;           ///< [rows, steps, units]: with reset_after h U_h + b_h, else r h; may be null
  void* reset;           ///< [rows, units]: `inner` of this step
  const void* factors;   ///< [rows, units], of the candidate: recurrent dropout without reset_after
  void* operand;         ///< reset times factors, if there are factors
  void* y;               ///< may be null
};
void gru_step_open(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s, const GruStep& step);
/// Without reset_after, step.products is the product of r h only, [rows, units].
void gru_step_mix(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s, const GruStep& step);

struct GruStepBack {
  bool reset_after;
  void* gates;                 ///< from forward; out: d z
  const void *hidden, *inner;  ///< from forward
  const void* dy;              ///< null: zero
  float* dh;                   ///< after the step; out: its parts through z (and r) h
  float* of_z;                 ///< [rows, units], passed from unmix to close
  void* dz;                    ///< gradients of this step, for the product of all gates
  void* recurrent;             ///< with reset_after: gradients of h U + b of all steps, laid out as gates
  const void* products;        ///< without reset_after: the candidate's d z U_h', [rows, units]
  const void* factors;         ///< recurrent dropout of the candidate; null: none
  void* candidate;             ///< without reset_after: the candidate's d z of this step, [rows, units]
};
void gru_step_unmix(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s, const GruStepBack& step);
void gru_step_close(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s, const GruStepBack& step);

// Conversion between frames ordered by row and by step (FramesShape), and both directions of a bidirectional layer.
// Outputs must not be inputs. Elements of by_step that belong to no frame are not written.

void frames_by_step(const Launch& at, DType type, const FramesShape& shape, const void* by_row, void* by_step);
void frames_by_row(const Launch& at, DType type, const FramesShape& shape, const void* by_step, void* by_row);

void merge_directions(const Launch& at, DType type, const DirectionShape& shape, const void* forward,
                      const void* backward, void* y);
/// The gradients of both directions from that of y. Only products read `forward` and `backward`.
void split_directions(const Launch& at, DType type, const DirectionShape& shape, const void* dy, const void* forward,
                      const void* backward, void* d_forward, void* d_backward);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
