#pragma once

// The optimizer's pass over the flat arenas of one replica: regularizer gradients, clipping, update (the optimizer's
// own, backend/optimizer_op.h), moving statistics, averages. Called after the all-reduce, so every replica does the
// same arithmetic on the same bits. Replica's thread only.

#include <cstdint>
#include <vector>

#include "backend/row_table.h"
#include "backend/stream.h"
#include "kernels/step_state.h"
#include "plan/plan.h"

namespace dptrain::backend {

/// Values of one update other than weights, gradients and slots.
struct UpdateArgs {
  std::int64_t step = 0;     ///< optimizer steps done before this one (Keras `iterations`); t = step + 1
  double learning_rate = 0;  ///< of this step, schedule, scaling and ReduceLROnPlateau applied
};

struct UpdateContext {
  const plan::Plan& plan;
  config::Typed optimizer;
  /// Whether later steps run after one that was skipped because its gradients are not finite. False: they are skipped,
  /// too, until the host clears LossScale::found_inf. With loss scaling they always run.
  bool continue_after_nonfinite = false;
};

struct UpdateBuffers {
  float* weights = nullptr;    ///< the whole parameter arena
  float* gradients = nullptr;  ///< [0, statistics_end); scaled and clipped in place, workspace of the optimizer's op
  std::vector<float*> slots;   ///< [0, trainable_end) each, in the order of nn::slots()
  float* average = nullptr;    ///< [0, trainable_end), null without use_ema
  std::vector<RowTable*> tables{};  ///< have their own slots; empty with use_ema
  void* compute = nullptr;          ///< the whole parameter arena in the compute type, written too; null for float32
  /// If gradients or statistics are not finite, the update changes only this. In float16, gradients are divided by it.
  /// Null: gradients are not checked.
  kernels::LossScale* loss_scale = nullptr;
};

class Update {
 public:
  virtual ~Update() = default;
  /// Fills what kernels read of this step from device memory; called on the host before the step is uploaded.
  virtual void describe(const UpdateArgs& args, kernels::StepState& state) const {
    state.step = args.step;
    state.learning_rate = args.learning_rate;
  }
  /// In this order (Keras): g += 2 l2 w + l1 sign(w); clip; decoupled decay; update; statistics
  /// new = momentum * old + (1 - momentum) * value; averages; overwrite.
  /// `state` (device memory) holds what describe() made of the same `args`.
  virtual void run(const UpdateBuffers& buffers, const UpdateArgs& args, const kernels::StepState* state,
                   Stream& stream) = 0;
  /// *value (device memory) = l1 sum|w| + l2 sum w^2 over all regularized weights. Queued.
  virtual void penalty(const float* weights, double* value, Stream& stream) = 0;
};

}  // namespace dptrain::backend
