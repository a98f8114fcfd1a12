#pragma once

// Reports of the trainer to callbacks and to the files of a run. Plain values.

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "experiment/logs.h"
#include "experiment/objectives.h"

namespace dptrain::train {

/// name -> (best value, epoch counted from 1), for values of metrics and losses
using BestValues = std::map<std::string, std::pair<double, std::int64_t>>;

struct StepReport {
  std::int64_t step = 0;    ///< optimizer steps done, including this one
  std::int64_t epoch = 0;   ///< counted from 0
  std::int64_t batch = 0;   ///< within the epoch, counted from 1
  double loss = 0;          ///< of this step
  experiment::Logs logs{};  ///< means of the epoch so far: loss and metrics
  double learning_rate = 0;
};

/// The steps since the previous report (train.log_every).
struct IntervalReport {
  StepReport last;  ///< the last of them
  double loss = 0;  ///< mean over their samples
  double examples_per_second = 0;
  double step_ms = 0, data_wait_ms = 0, comm_exposed_ms = 0;  ///< means
};

/// A validation inside an epoch, with the devices at `step`.
struct ValidationReport {
  std::int64_t step = 0;   ///< optimizer steps done
  std::int64_t epoch = 0;  ///< counted from 0
  std::int64_t batch = 0;  ///< within the epoch, counted from 1
  experiment::Logs logs;   ///< of the epoch so far, and "val_..." of this validation
};

struct EpochReport {
  std::int64_t epoch = 0;  ///< counted from 0
  experiment::Logs logs;
  double seconds = 0;  ///< training and validation
  double train_seconds = 0;
  std::int64_t samples = 0;
  std::int64_t step = 0;     ///< optimizer steps done
  double learning_rate = 0;  ///< of the last step
  bool whole = true;         ///< false: the run ends inside the epoch

  double examples_per_second() const { return static_cast<double>(samples) / train_seconds; }
};

struct FitResult {
  std::string exit;  ///< completed, early_stopping, max_time, signal, diverged
  int exit_code = 0;
  std::string reason;                             ///< why it diverged: "the loss of step 12 is nan"
  std::int64_t skipped_steps = 0, rollbacks = 0;  ///< counts of train.on_nonfinite
  experiment::Logs final;                         ///< values of the last epoch
};

/// Whether a run with this `exit` completed or stopped early, rather than being interrupted or diverging.
inline bool is_completed(const std::string& exit) { return exit == "completed" || exit == "early_stopping"; }

struct EndReport {
  FitResult result;
  std::int64_t epochs = 0;  ///< whole epochs
  std::int64_t steps = 0;
  double seconds = 0;  ///< including resumed parts, like the samples
  double examples_per_second = 0;
  BestValues best;
  std::vector<experiment::LoggedValue> logged{};  ///< with the directions of `best`
  std::int64_t saves = 0;
  double save_stall_seconds = 0;
};

}  // namespace dptrain::train
