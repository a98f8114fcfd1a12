#pragma once

// Run: state of one run that the parts of the trainer share. Owned by the trainer, on its thread.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiment/objectives.h"
#include "train/position.h"
#include "train/progress.h"
#include "train/run_directory.h"
#include "train/run_sink.h"

namespace dptrain::train {

inline constexpr const char* kDiverged = "diverged";

struct Run {
  Run(session::Session& its_session, const RunDirectory& its_directory, ProgressMode mode);

  session::Session& session;
  const RunDirectory& directory;
  World world;
  std::vector<experiment::LoggedValue> logged;
  std::unique_ptr<RunSink> sinks;
  Progress progress;
  Position position;  ///< after the steps with collected sums; the devices may be ahead
  Callbacks callbacks;
  BestValues best;
  std::string stop_reason;  ///< the first reason: "early_stopping", "diverged", ...; "" while the run continues
  bool rolls_back = false;  ///< once the devices have caught up

  void stop(const std::string& reason);
  bool is_stopping() const { return !stop_reason.empty(); }
  /// Whether weights or loss are not finite: nothing may be saved.
  bool failed() const { return stop_reason == kDiverged || rolls_back; }

  double rate_of(std::int64_t step) const;  ///< the learning rate
  double learning_rate() const { return rate_of(position.step); }
  experiment::Logs logs() const;  ///< values of the epoch so far
  /// Steps between two validations; 0: at the ends of epochs.
  std::int64_t validation_steps() const;
};

}  // namespace dptrain::train
