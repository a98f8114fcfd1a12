#pragma once

// What a run says and writes at the end of an epoch and at its own end: lines of the log, train.csv, events,
// result.json. Main thread.

#include <string>

#include "session/session.h"
#include "train/callback.h"
#include "train/position.h"
#include "train/run_directory.h"
#include "train/saver.h"

namespace dptrain::train {

struct FitResult {
  std::string exit;  ///< completed, early_stopping, max_time, signal, diverged
  int exit_code = 0;
  std::string reason;                             ///< of diverged: "the loss of step 12 is nan"
  std::int64_t skipped_steps = 0, rollbacks = 0;  ///< train.on_nonfinite
  experiment::Logs final;                         ///< of the last epoch
};

/// Of the epoch so far.
experiment::Logs logs_of(const session::Session& session, const Position& position);

/// An epoch, whole or not, after `batches` of it: its line and its row.
void log_epoch(const session::Session& session, RunDirectory& run, const EpochReport& report, std::int64_t batches,
               double learning_rate);
void write_epoch_event(RunDirectory& run, const EpochReport& report, std::int64_t step);
void remember_best(const EpochReport& report, BestValues& best);

/// result.json and the last event.
void write_result(const FitResult& result, session::Session& session, RunDirectory& run, const Position& position,
                  const BestValues& best, const Saver& saver);

}  // namespace dptrain::train
