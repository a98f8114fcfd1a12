#pragma once

// train.on_nonfinite: what a run does about a step whose loss or gradients are not finite, and about weights that are
// not. The devices leave such a step's update out (backend/update.h), so the weights are still those before it. Pure.

#include <cstdint>

#include "config/typed.h"

namespace dptrain::experiment {

/// Ends the run, exit code 6.
struct StopSpec {};
/// Goes on with the next batch. Random layers and schedules count the step, optimizers do not.
struct SkipStepSpec {
  std::int64_t at_most = 10;  ///< in a run; one more ends it
};
/// Goes back to last.h5 with the learning rate times `factor`.
struct RollbackSpec {
  double factor = 0.5;
  std::int64_t at_most = 3;
};

config::Family& nonfinite_family();
using OnNonfinite = config::Of<nonfinite_family>;

}  // namespace dptrain::experiment
