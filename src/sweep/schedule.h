#pragma once

// Schedule: which trial is trained next, and how far. With halving the trials of a rung all end before the best of them
// go on: of n trials floor(n / eta), at least one, where one has a value. A trial that EarlyStopping has ended keeps
// its value and its place in later rungs, and trains no more. Pure but for the sweep that it changes; one thread.

#include <cstddef>
#include <optional>

#include "sweep/trials.h"

namespace dptrain::sweep {

class Schedule {
 public:
  /// Trials that ran when the sweep was stopped wait again. `sweep` must live as long.
  explicit Schedule(Sweep& sweep);

  /// The place of the trial to start now, which is kRunning from then on; nothing where others must end before, or none
  /// is left.
  std::optional<std::size_t> next();
  /// Epochs in all that a trial is trained for at its rung; nothing: as the config says.
  std::optional<std::int64_t> epochs_of(const Trial& trial) const;

  void done(std::size_t trial, Outcome outcome);
  void failed(std::size_t trial, Outcome outcome);
  /// It was stopped with the sweep, and goes on when that is resumed.
  void stopped(std::size_t trial);

  bool finished() const;            ///< nothing runs and nothing is left to run
  std::size_t runs_in_all() const;  ///< at most: a trial counts once for each rung
  std::size_t runs_done() const;

 private:
  void promote();

  Sweep& sweep_;
};

}  // namespace dptrain::sweep
