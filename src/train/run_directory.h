#pragma once

// RunDirectory: runs/<name>/NNN with the files that people and scripts read (docs/files.md). Every write is checked;
// files a script may read half-written are replaced atomically. Trainer's thread only.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "experiment/experiment.h"
#include "session/devices.h"
#include "train/callback.h"
#include "train/line_file.h"
#include "train/run_lock.h"

namespace dptrain::train {

struct RunOptions {
  std::optional<std::string> directory{};  ///< --run-dir; absent: <run_dir>/<name>/NNN, the next free number
  std::optional<std::string> name{};       ///< --name
  bool overwrite = false;
  bool resuming_here = false;        ///< go on in a directory that has a run in it
  bool restarting_here = false;      ///< begin again where a run was killed before its first checkpoint
  std::vector<std::string> command;  ///< argv, for command.txt
};

class RunDirectory {
 public:
  /// Makes the directory, locks it for as long as this object lives, and writes config.yaml, config.resolved.yaml,
  /// command.txt and labels.txt. Throws Error{kUsage} when it is not empty (and neither overwrite nor resuming_here) or
  /// another process has it, Error{kWrite} when it cannot be written, or read where the run goes on.
  RunDirectory(const experiment::Experiment& experiment, const RunOptions& options,
               const std::vector<std::string>& class_names);

  const std::string& path() const { return path_; }
  std::string checkpoint(const std::string& name) const;  ///< <path>/checkpoints/<name>
  std::string file(const std::string& name) const;        ///< <path>/<name>

  /// train.csv: one row per epoch; a row of a partial epoch is replaced by the next row of the same epoch.
  void epoch_row(std::int64_t epoch_from_1, const experiment::Logs& logs, double learning_rate,
                 double examples_per_second, double seconds);
  /// After a resume: forget rows of train.csv and steps.csv that the state does not know.
  void truncate_to(std::int64_t epochs_done, std::int64_t steps_done);

  struct StepRow {
    std::int64_t step = 0, epoch_from_1 = 0;
    double loss = 0, learning_rate = 0, examples_per_second = 0, step_ms = 0, data_wait_ms = 0, comm_exposed_ms = 0;
  };
  void step_row(const StepRow& row);

  /// data-errors.csv: one row per file; a row that is there already (the run was resumed) is not written again.
  void data_error(const data::BadSample& bad);

  /// events.jsonl: one line {"t": unix seconds, "ev": kind, ...fields}.
  void event(const std::string& kind, const nlohmann::json& fields);
  /// env.json, result.json and other whole files: temporary name, then rename.
  void write_json(const std::string& name, const nlohmann::json& value);

  /// Tries once more to write the lines that could not be; false: some are lost.
  bool flush();

  /// The newest run of a name under run_dir that has checkpoints/last.h5, or "".
  static std::string newest(const experiment::Experiment& experiment, const std::optional<std::string>& name);

 private:
  void choose(const experiment::Experiment& experiment, const RunOptions& options);
  void describe(const experiment::Experiment& experiment, const RunOptions& options,
                const std::vector<std::string>& class_names) const;

  std::string path_;
  RunLock lock_;
  bool validated_ = false;            ///< the config has a validation set: train.csv has val_ columns from the start
  std::vector<std::string> columns_;  ///< of train.csv, once known
  std::int64_t last_row_ = 0;         ///< epoch of the last row of train.csv
  std::set<std::string> known_data_errors_;
  LineFile epochs_, steps_, events_, data_errors_;
};

}  // namespace dptrain::train
