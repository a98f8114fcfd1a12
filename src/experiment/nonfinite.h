#pragma once

// train.on_nonfinite: what a run does about a step whose loss or gradients are not finite, and about weights that are
// not. The devices leave such a step's update out (device/update.h), so the weights are still those before it.
// Trainer's thread.

#include <cstdint>

#include "config/family.h"
#include "graph/model.h"

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

enum class Reaction { kStop, kSkip, kRollBack };

/// The account of a run's reactions. One that was resumed starts a new one.
class NonfiniteAccount {
 public:
  explicit NonfiniteAccount(OnNonfinite wish) : wish_(std::move(wish)) {}

  /// To the next of them; `step`: it was one that the devices have left out, so that it can be skipped.
  Reaction react(bool step);

  double factor() const;  ///< of RollbackSpec
  std::int64_t skipped_steps() const { return skipped_steps_; }
  std::int64_t rollbacks() const { return rollbacks_; }

 private:
  OnNonfinite wish_;
  std::int64_t skipped_steps_ = 0, rollbacks_ = 0;
};

bool all_finite(const graph::Model& model);

}  // namespace dptrain::experiment
