#pragma once

// Optimizers: specs with Keras's names, defaults and equations (docs/numerics.md). What a device needs is the spec, the
// slots, and per step the numbers in UpdateArgs; the flat pass itself is device/update.h. Read-only after start.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/family.h"
#include "optim/schedule.h"

namespace dptrain::optim {

config::Family& optimizer_family();
using Optimizer = config::Of<optimizer_family>;

/// Arguments every Keras optimizer has. At most one of the three clips.
struct OptimizerCommon {
  LearningRate learning_rate;
  std::optional<double>
      weight_decay;                ///< decoupled: w -= lr * weight_decay * w, every trainable weight, before the update
  std::optional<double> clipnorm;  ///< per weight tensor: g * c / max(|g|, c)
  std::optional<double> clipvalue;        ///< g clamped to [-c, c]
  std::optional<double> global_clipnorm;  ///< over all weights
  bool use_ema = false;                   ///< avg = m * avg + (1 - m) * w after the update, avg = w at the first
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency;  ///< w = avg every so many steps
};

struct SGDSpec : OptimizerCommon {  // learning_rate 0.01
  SGDSpec() { learning_rate.constant = 0.01; }
  double momentum = 0;
  bool nesterov = false;
};
struct AdamSpec : OptimizerCommon {  // 0.001
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
};
struct AdamWSpec : AdamSpec {  // 0.001, weight_decay 0.004
  AdamWSpec() { weight_decay = 0.004; }
};
struct RMSpropSpec : OptimizerCommon {  // 0.001
  double rho = 0.9, momentum = 0, epsilon = 1e-7;
  bool centered = false;
};
struct AdagradSpec : OptimizerCommon {  // 0.001
  double initial_accumulator_value = 0.1, epsilon = 1e-7;
};

const OptimizerCommon& common(const config::Typed& optimizer);

/// One float of state per trainable weight element: Keras's slot name ("momentum", "velocity", ...) and its first
/// value.
struct SlotDef {
  std::string name;
  float initial = 0;
};
/// In the order in which devices and checkpoints keep them. EMA is not among them ("average" is added last when
/// use_ema).
std::vector<SlotDef> slots(const config::Typed& optimizer);

/// What one update needs beyond weights, gradients and slots.
struct UpdateArgs {
  std::int64_t step = 0;     ///< optimizer steps done before this one (Keras `iterations`); t = step + 1
  double learning_rate = 0;  ///< of this step, schedule, scaling and ReduceLROnPlateau applied
};

}  // namespace dptrain::optim
