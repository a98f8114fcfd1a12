#pragma once

// NonfiniteAccount: how often a run has met what is not finite, and what it does about it (train.on_nonfinite).
// Trainer's thread.

#include <cstdint>
#include <utility>

#include "experiment/sections.h"
#include "graph/model.h"

namespace dptrain::train {

enum class Reaction { kStop, kSkip, kRollBack };

/// The account of a run's reactions, all parts of a resumed run together.
class NonfiniteAccount {
 public:
  explicit NonfiniteAccount(experiment::OnNonfinite wish) : wish_(std::move(wish)) {}

  /// To the next of them; `step`: it was one that the devices have left out, so that it can be skipped.
  Reaction react(bool step);

  /// Adopts the counts of a checkpoint, unless its own are larger: a rollback subtracts nothing.
  void restore(std::int64_t skipped_steps, std::int64_t rollbacks);

  double factor() const;  ///< of rollback
  std::int64_t skipped_steps() const { return skipped_steps_; }
  std::int64_t rollbacks() const { return rollbacks_; }

 private:
  experiment::OnNonfinite wish_;
  std::int64_t skipped_steps_ = 0, rollbacks_ = 0;
};

bool all_finite(const graph::Model& model);

}  // namespace dptrain::train
