#pragma once

// Recurrent layers over [rows, steps, ...]: the sequential part of each step. The caller computes the products with the
// inputs before, for all steps at once, and the gradients of the weights after, from the gradients of all sums. A piece
// of the work is a block of rows through all steps. Its state stays in the L1 cache, the weights in the L2 cache, and
// pieces need no synchronization. A cell describes a pass as RecurrentWork; run_recurrent() runs one or several
// concurrently. Nothing is allocated. Conventions: parallel.h.
//
// Masked steps take no time: at each step the active rows of a block are compacted. Blocks of rows of similar length
// are fastest (order_by_length in masked_steps.h). A row's results do not depend on its block.

#include <cstdint>
#include <span>

#include "kernels/activation_kind.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

/// Arguments of all cells. Tensors are in the order of time, also for backwards, except for the outputs.
struct RecurrentSteps {
  int64_t rows = 0, steps = 0, units = 0;
  bool backwards = false;          ///< starts with the last step
  const uint8_t* mask = nullptr;   ///< [rows, steps]: 0 masks a step; null: no mask
  const int32_t* order = nullptr;  ///< [rows]: order in which blocks take the rows; null: unchanged
  /// [rows, steps], from masked_steps.h: positions in sums and saved tensors without masked steps; null: all steps.
  const int32_t* places = nullptr;
  const float* state_factors = nullptr;       ///< recurrent dropout: [gates, rows, units], factors of h; null: none
  Activation activation = Activation::kTanh;  ///< both element-wise, with has_gradient_from_output
  Activation recurrent_activation = Activation::kSigmoid;
  /// Outputs and their gradients are [rows, steps, units] (all steps), else [rows, units] (the last step).
  bool sequences = false;
};

/// One pass through all steps, cut into pieces. Does not own the pass it points to.
struct RecurrentWork {
  int64_t pieces = 0;
  int64_t scratch = 0;  ///< floats of scratch memory per piece
  const void* pass = nullptr;
  void (*run)(const void* pass, int64_t piece, float* scratch) = nullptr;
};
void run_recurrent(std::span<const RecurrentWork> works, float* workspace);
/// Floats of workspace for works of `scratch` floats per piece on at most `threads` threads.
int64_t recurrent_workspace(int64_t scratch, int threads);

/// Floats of a recurrent kernel [units, gates * units], packed for one of the passes.
int64_t packed_recurrent_kernel(int64_t units, int64_t gates);
/// Packs for forward, or transposed for backward. `to` is aligned to a cache line.
void pack_recurrent_kernel(const float* kernel, int64_t units, int64_t gates, bool backward, float* to);

/// h' = activation(z + h U).
struct SimpleRnnSaved {
  float* sums = nullptr;    ///< [rows, steps, units]: z = x K + b in, h' out (undefined if masked); backward: d z
  float* hidden = nullptr;  ///< [rows, steps, units]: h before each step (without state_factors); null: not saved
};
struct SimpleRnnForward {
  RecurrentSteps steps;
  const float* kernel;  ///< packed, as in all passes
  const float* h0;      ///< [rows, units]; null: zeros
  SimpleRnnSaved saved;
  float *y, *h;  ///< outputs, and h at the end; null: not written
};
struct SimpleRnnBackward {
  RecurrentSteps steps;
  const float* kernel;
  SimpleRnnSaved saved;  ///< d z replaces the sums; zeros for a masked step
  const float *y, *h;    ///< gradients; null: zeros
  float* dh0;            ///< output; null: not computed
};
int64_t simple_rnn_scratch(int64_t units);
RecurrentWork simple_rnn_work(const SimpleRnnForward& pass);
RecurrentWork simple_rnn_work(const SimpleRnnBackward& pass);

/// Tensors saved by forward for backward.
struct LstmSaved {
  float* gates = nullptr;     ///< [rows, steps, 4 units]: z = x K + b in, activated i, f, c, o out; backward: d z
  float* hidden = nullptr;    ///< [rows, steps, units]: h before each step (without state_factors); null: not saved
  float* cell = nullptr;      ///< [rows, steps, units]: c after each step; null: not saved
  float* squashed = nullptr;  ///< [rows, steps, units]: activation(c); null: not saved
};
struct LstmForward {
  RecurrentSteps steps;
  const float *kernel, *h0, *c0;  ///< h0, c0: [rows, units], null: zeros
  LstmSaved saved;
  float *y, *h, *c;  ///< outputs, and h and c at the end; null: not written
};
struct LstmBackward {
  RecurrentSteps steps;
  const float *kernel, *c0;
  LstmSaved saved;         ///< d z replaces the gates; zeros for a masked step
  const float *y, *h, *c;  ///< gradients; null: zeros
  float *dh0, *dc0;        ///< outputs; null: not computed
};
int64_t lstm_scratch(int64_t units);
RecurrentWork lstm_work(const LstmForward& pass);
RecurrentWork lstm_work(const LstmBackward& pass);

struct GruSaved {
  float* gates = nullptr;   ///< [rows, steps, 3 units]: x K + b in, activated z, r, hh out; backward: their d z
  float* hidden = nullptr;  ///< [rows, steps, units]: h before each step (without state_factors); null: not saved
  /// [rows, steps, units]: h U_h + b_h with reset_after, else r h (without state_factors); null: not saved.
  float* inner = nullptr;
};
struct GruForward {
  RecurrentSteps steps;
  bool reset_after;
  const float *kernel, *bias;  ///< with reset_after [3 units], bias of h U; null: none
  const float* h0;
  GruSaved saved;
  float *y, *h;
};
struct GruBackward {
  RecurrentSteps steps;
  bool reset_after;
  const float* kernel;
  GruSaved saved;
  const float *y, *h;
  float* dh0;
  /// With reset_after: [rows, steps, 3 units], gradients of h U + b, of which the third differs from that of x K.
  float* recurrent;
};
int64_t gru_scratch(int64_t units);
RecurrentWork gru_work(const GruForward& pass);
RecurrentWork gru_work(const GruBackward& pass);

// Order of steps: frames by row and by step (FramesShape), and both directions of a bidirectional layer. Elements of
// by_step that belong to no frame are not written.

void frames_by_step(const FramesShape& shape, const float* by_row, float* by_step);
void frames_by_row(const FramesShape& shape, const float* by_step, float* by_row);

void merge_directions(const DirectionShape& shape, const float* forward, const float* backward, float* y);
/// Gradients of both directions from that of y. Only products read `forward` and `backward`.
void split_directions(const DirectionShape& shape, const float* dy, const float* forward, const float* backward,
                      float* d_forward, float* d_backward);

}  // namespace dptrain::kernels::cpu
