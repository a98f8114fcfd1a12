#pragma once

// The optimizer's pass over the flat arenas of one replica: regularizer gradients, clipping, update, moving statistics,
// averages. Called after the all-reduce, so every replica does the same arithmetic on the same bits. Replica's thread only.

#include <cstdint>
#include <vector>

#include "device/stream.h"
#include "optim/optimizer.h"
#include "plan/plan.h"

namespace dptrain::device {

struct UpdateContext {
  const plan::Plan& plan;
  config::Typed optimizer;
};

struct UpdateBuffers {
  float* weights = nullptr;          ///< the whole parameter arena
  float* gradients = nullptr;        ///< [0, statistics_end); scaled and clipped in place
  std::vector<float*> slots;         ///< [0, trainable_end) each, in the order of optim::slots()
  float* average = nullptr;          ///< [0, trainable_end), null without use_ema
};

class Update {
 public:
  virtual ~Update() = default;
  /// In this order (Keras): g += 2 l2 w + l1 sign(w); clip; decoupled decay; update; statistics
  /// new = momentum * old + (1 - momentum) * value; averages; overwrite.
  virtual void run(const UpdateBuffers& buffers, const optim::UpdateArgs& args, Stream& stream) = 0;
  /// l1 sum|w| + l2 sum w^2 over all regularized weights.
  virtual double penalty(const float* weights, Stream& stream) = 0;
};

}  // namespace dptrain::device
