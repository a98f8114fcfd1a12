#pragma once

// Recurrent layers over [rows, steps, ...]. What the inputs give to each step's sums is computed before, for all steps
// at once, and gradients of weights come after, from the sums' gradients of all steps; here the steps are taken one
// after the other. A piece of the work is a block of rows through all steps, whose states stay in the nearest cache and
// the weights in the second: pieces never wait for one another. A cell says what a pass is as RecurrentWork, and
// run_recurrent() takes one pass, or several side by side. May be called from any thread; work is shared among the
// caller's threads. Nothing is allocated; results do not depend on the number of threads. Everything written is
// overwritten.
//
// A row computes nothing at a step that its mask leaves out: at each step the rows of a block that take it close ranks.
// So blocks of rows of like lengths cost least (masked_steps.h has an order of rows for that), and nothing of a row
// depends on its block.

#include <cstdint>
#include <span>

#include "kernels/activation_kind.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

/// What all cells have in common. Steps stand at their place in time, whatever the order in which they are taken, but
/// for the outputs.
struct RecurrentSteps {
  int64_t rows = 0, steps = 0, units = 0;
  bool backwards = false;          ///< takes the last step first
  const uint8_t* mask = nullptr;   ///< [rows, steps]: 0 where a step is left out; null: none is
  const int32_t* order = nullptr;  ///< [rows]: how blocks take the rows; null: as they lie
  /// [rows, steps], of masked_steps.h: where a step stands among those that are valid, which sums and what is kept then
  /// have alone; null: they have all steps.
  const int32_t* places = nullptr;
  const float* state_factors = nullptr;       ///< recurrent dropout: [gates, rows, units], factors of h; null: none
  Activation activation = Activation::kTanh;  ///< both with has_gradient_from_output, not over rows
  Activation recurrent_activation = Activation::kSigmoid;
  /// The outputs and their gradients are of all steps, [rows, steps, units], else of the last one, [rows, units].
  bool sequences = false;
};

/// One pass through all steps, cut into pieces. It points to the pass that it was made of.
struct RecurrentWork {
  int64_t pieces = 0;
  int64_t room = 0;  ///< floats that a piece wants
  const void* pass = nullptr;
  void (*run)(const void* pass, int64_t piece, float* room) = nullptr;
};
void run_recurrent(std::span<const RecurrentWork> works, float* workspace);
/// Floats of workspace of works that want so much room, for at most `threads` threads.
int64_t recurrent_workspace(int64_t room, int threads);

/// Floats of a recurrent kernel [units, gates * units], packed for one of the passes.
int64_t packed_recurrent_kernel(int64_t units, int64_t gates);
/// For forward, or transposed for backward. `to` is aligned to a cache line.
void pack_recurrent_kernel(const float* kernel, int64_t units, int64_t gates, bool backward, float* to);

/// h' = activation(z + h U).
struct SimpleRnnKept {
  float* sums = nullptr;    ///< [rows, steps, units]: z = x K + b in, h' out (of a step that is left out: anything);
                            ///< backward: d z
  float* hidden = nullptr;  ///< [rows, steps, units]: h before each step (without state_factors); null: not wanted
};
struct SimpleRnnForward {
  RecurrentSteps steps;
  const float* kernel;  ///< packed, as in all passes
  const float* h0;      ///< [rows, units]; null: zeros
  SimpleRnnKept kept;
  float *y, *h;  ///< results: the outputs, and h at the end; null: not wanted
};
struct SimpleRnnBackward {
  RecurrentSteps steps;
  const float* kernel;
  SimpleRnnKept kept;  ///< d z replaces the sums; a step that is left out has zeros
  const float *y, *h;  ///< gradients; null: zero
  float* dh0;          ///< result; null: not wanted
};
int64_t simple_rnn_room(int64_t units);
RecurrentWork simple_rnn_work(const SimpleRnnForward& pass);
RecurrentWork simple_rnn_work(const SimpleRnnBackward& pass);

/// What forward keeps for backward.
struct LstmKept {
  float* gates = nullptr;     ///< [rows, steps, 4 units]: z = x K + b in, the activated i, f, c, o out; backward: d z
  float* hidden = nullptr;    ///< [rows, steps, units]: h before each step (without state_factors); null: not wanted
  float* cell = nullptr;      ///< [rows, steps, units]: c behind each step; null: not wanted
  float* squashed = nullptr;  ///< [rows, steps, units]: activation(c); null: not wanted
};
struct LstmForward {
  RecurrentSteps steps;
  const float *kernel, *h0, *c0;  ///< h0, c0: [rows, units], null: zeros
  LstmKept kept;
  float *y, *h, *c;  ///< results: h and c at the end; null: not wanted
};
struct LstmBackward {
  RecurrentSteps steps;
  const float *kernel, *c0;
  LstmKept kept;           ///< d z replaces the gates; a step that is left out has zeros
  const float *y, *h, *c;  ///< gradients; null: zero
  float *dh0, *dc0;        ///< results; null: not wanted
};
int64_t lstm_room(int64_t units);
RecurrentWork lstm_work(const LstmForward& pass);
RecurrentWork lstm_work(const LstmBackward& pass);

struct GruKept {
  float* gates = nullptr;   ///< [rows, steps, 3 units]: x K + b in, the activated z, r, hh out; backward: their d z
  float* hidden = nullptr;  ///< [rows, steps, units]: h before each step (without state_factors); null: not wanted
  /// [rows, steps, units]: with reset_after h U_h + b_h, else r h (without state_factors); null: not wanted.
  float* inner = nullptr;
};
struct GruForward {
  RecurrentSteps steps;
  bool reset_after;
  const float *kernel, *bias;  ///< bias: [3 units] of h U, with reset_after; null: none
  const float* h0;
  GruKept kept;
  float *y, *h;
};
struct GruBackward {
  RecurrentSteps steps;
  bool reset_after;
  const float* kernel;
  GruKept kept;
  const float *y, *h;
  float* dh0;
  /// With reset_after: [rows, steps, 3 units], the gradients of h U + b, of which the third differs from that of x K.
  float* recurrent;
};
int64_t gru_room(int64_t units);
RecurrentWork gru_work(const GruForward& pass);
RecurrentWork gru_work(const GruBackward& pass);

// Order of the steps of recurrent layers: frames by row and by step (FramesShape), both directions of a bidirectional
// layer. An output must not be an input. Elements of by_step that belong to no frame are not written.

void frames_by_step(const FramesShape& shape, const float* by_row, float* by_step);
void frames_by_row(const FramesShape& shape, const float* by_step, float* by_row);

/// Merges the outputs of both directions.
void merge_directions(const DirectionShape& shape, const float* forward, const float* backward, float* y);
/// The gradients of both from that of y. `forward` and `backward` are read by products alone.
void split_directions(const DirectionShape& shape, const float* dy, const float* forward, const float* backward,
                      float* d_forward, float* d_backward);

}  // namespace dptrain::kernels::cpu
