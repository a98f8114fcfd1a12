#pragma once

// NonFinitePolicy: counts non-finite values of a run and chooses the reaction (train.on_nonfinite). Trainer's thread.

#include <cstdint>
#include <utility>

#include "experiment/sections.h"
#include "graph/model.h"

namespace dptrain::train {

enum class Reaction { kStop, kSkip, kRollBack };

/// Includes the counts of earlier parts of a resumed run.
class NonFinitePolicy {
 public:
  explicit NonFinitePolicy(experiment::OnNonfinite setting) : setting_(std::move(setting)) {}

  /// Counts a non-finite value. `step`: the devices have skipped the step, so that kSkip is possible.
  Reaction react(bool step);

  /// Takes the counts of a checkpoint unless its own are larger: a rollback must not reduce them.
  void restore(std::int64_t skipped_steps, std::int64_t rollbacks);

  double factor() const;  ///< factor of the learning rate after rollbacks
  std::int64_t skipped_steps() const { return skipped_steps_; }
  std::int64_t rollbacks() const { return rollbacks_; }

 private:
  experiment::OnNonfinite setting_;
  std::int64_t skipped_steps_ = 0, rollbacks_ = 0;
};

bool all_finite(const graph::Model& model);

}  // namespace dptrain::train
