#pragma once

// Schedule: which trial is trained next, and for how many epochs. With halving, all trials of a rung end before its
// best floor(n / eta), at least one, continue. A trial ended by EarlyStopping keeps its value and its place in later
// rungs without training. Changes nothing but the sweep; one thread.

#include <cstddef>
#include <optional>

#include "sweep/trials.h"

namespace dptrain::sweep {

class Schedule {
 public:
  /// Trials that ran when the sweep was stopped become waiting. `sweep` must outlive this.
  explicit Schedule(Sweep& sweep);

  /// Index of the next trial, which becomes kRunning; nothing if others must end first or none is left.
  std::optional<std::size_t> next();
  /// Total epochs of a trial at its rung; nothing: as configured.
  std::optional<std::int64_t> epochs_of(const Trial& trial) const;

  /// `status`: kDone or kFailed.
  void end(std::size_t trial, Status status, Outcome outcome);
  /// The trial was stopped with the sweep and continues when that is resumed.
  void stopped(std::size_t trial);

  bool finished() const;            ///< no trial is running or waiting
  std::size_t runs_in_all() const;  ///< upper bound: a trial counts once for each rung
  std::size_t runs_done() const;

 private:
  void promote();

  Sweep& sweep_;
};

}  // namespace dptrain::sweep
