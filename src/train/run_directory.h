#pragma once

// RunDirectory: runs/<name>/NNN, its lock, and the files that describe the run (docs/reference/run-directory.md).
// Checks every write and replaces whole files atomically; growing files are RunSinks (train/run_sink.h). Main thread
// only.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/class_names.h"
#include "experiment/experiment.h"
#include "session/devices.h"

namespace dptrain::train {

// RunLock: locks <directory>/.lock for one process, until it ends. Movable; main thread.

class RunLock {
 public:
  RunLock() = default;
  /// Throws Error{kUsage} naming the owner, or Error{kWrite}. Warns and locks nothing on file systems without locks.
  explicit RunLock(const std::string& directory);
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;
  ~RunLock();

 private:
  int file_ = -1;
};

struct RunOptions {
  std::optional<std::string> directory{};  ///< --run-dir; absent: <run_dir>/<name>/NNN, the next free number
  std::optional<std::string> name{};       ///< --name
  bool overwrite = false;
  bool resuming_here = false;        ///< continue in a directory that contains a run
  bool restarting_here = false;      ///< start again where a run was killed before its first checkpoint
  std::vector<std::string> command;  ///< argv, for command.txt
};

class RunDirectory {
 public:
  /// Creates the directory, locks it for the lifetime of this object, and writes config.yaml, config.resolved.yaml,
  /// command.txt and labels.txt. Throws Error{kUsage} if it is not empty (without overwrite or resuming_here) or locked
  /// by another process, Error{kWrite} if it cannot be written, or read for a resumed run.
  RunDirectory(const experiment::Experiment& experiment, const RunOptions& options, const ClassNames& class_names);

  /// The directory of another process's run: this process does not access it.
  explicit RunDirectory(std::string path_of_first) : path_(std::move(path_of_first)), is_here_(false) {}

  bool is_here() const { return is_here_; }
  const std::string& path() const { return path_; }
  std::string checkpoint(const std::string& name) const;  ///< <path>/checkpoints/<name>
  std::string file(const std::string& name) const;        ///< <path>/<name>

  /// Writes env.json, result.json and other whole files atomically; does nothing if the directory is not here.
  void write_json(const std::string& name, const nlohmann::json& value) const;

  /// <run_dir>/<name>, the folder of an experiment's runs.
  static std::string experiment_folder(const experiment::Experiment& experiment);
  /// Creates and returns <run_dir>/<name>/sweep-NNN with the next free number. Throws Error{kWrite}.
  static std::string next_sweep(const experiment::Experiment& experiment);
  /// The weights that all commands use for a run: checkpoints/best.h5, else model.h5 if the run completed or stopped
  /// early, else checkpoints/last.h5; "" if there is none.
  static std::string weights_of(const std::string& folder);
  /// The newest run of that name in run_dir that has checkpoints/last.h5, or "".
  static std::string newest(const experiment::Experiment& experiment, const std::optional<std::string>& name);

 private:
  void choose(const experiment::Experiment& experiment, const RunOptions& options);
  void describe(const experiment::Experiment& experiment, const RunOptions& options,
                const ClassNames& class_names) const;

  std::string path_;
  bool is_here_ = true;
  RunLock lock_;
};

/// Text for result.json's `exit`: "stopped early: no further improvement".
std::string exit_text(const std::string& exit);

}  // namespace dptrain::train
