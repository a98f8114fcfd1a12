#pragma once

// RunDirectory: runs/<name>/NNN, its lock, and the files that describe the run (docs/files.md); those that grow are
// RunSinks (train/run_sink.h). Every write is checked; files a script may read half-written are replaced atomically.
// Main thread only.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/class_names.h"
#include "experiment/experiment.h"
#include "session/devices.h"

namespace dptrain::train {

// RunLock: one process at a time trains into a run directory. It holds a lock on <directory>/.lock; the kernel drops it
// when the process ends, however it ends, so a lock never outlives its owner. Movable; main thread.

class RunLock {
 public:
  RunLock() = default;
  /// Throws Error{kUsage} naming the process that has it, Error{kWrite} where the file cannot be made. Warns, and locks
  /// nothing, where the file system has no locks.
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
  bool resuming_here = false;        ///< go on in a directory that has a run in it
  bool restarting_here = false;      ///< begin again where a run was killed before its first checkpoint
  std::vector<std::string> command;  ///< argv, for command.txt
};

class RunDirectory {
 public:
  /// Makes the directory, locks it for as long as this object lives, and writes config.yaml, config.resolved.yaml,
  /// command.txt and labels.txt. Throws Error{kUsage} when it is not empty (and neither overwrite nor resuming_here) or
  /// another process has it, Error{kWrite} when it cannot be written, or read where the run goes on.
  RunDirectory(const experiment::Experiment& experiment, const RunOptions& options, const ClassNames& class_names);

  /// The directory of another process's run: this one writes nothing there, and need not see it.
  explicit RunDirectory(std::string path_of_first) : path_(std::move(path_of_first)), is_here_(false) {}

  bool is_here() const { return is_here_; }
  const std::string& path() const { return path_; }
  std::string checkpoint(const std::string& name) const;  ///< <path>/checkpoints/<name>
  std::string file(const std::string& name) const;        ///< <path>/<name>

  /// env.json, result.json and other whole files: temporary name, then rename. Nothing where the directory is not here.
  void write_json(const std::string& name, const nlohmann::json& value) const;

  /// <run_dir>/<name>, where the runs of an experiment lie.
  static std::string experiment_folder(const experiment::Experiment& experiment);
  /// Makes and returns <run_dir>/<name>/sweep-NNN with the next free number. Throws Error{kWrite}.
  static std::string next_sweep(const experiment::Experiment& experiment);
  /// The weights of the run in a folder, which all commands use: checkpoints/best.h5, else the model.h5 of a run that
  /// was completed or stopped early, else checkpoints/last.h5; "" if there is none.
  static std::string weights_of(const std::string& folder);
  /// The newest run of a name under run_dir that has checkpoints/last.h5, or "".
  static std::string newest(const experiment::Experiment& experiment, const std::optional<std::string>& name);

 private:
  void choose(const experiment::Experiment& experiment, const RunOptions& options);
  void describe(const experiment::Experiment& experiment, const RunOptions& options,
                const ClassNames& class_names) const;

  std::string path_;
  bool is_here_ = true;
  RunLock lock_;
};

/// For result.json's `exit`: "stopped early: no further improvement".
std::string exit_text(const std::string& exit);

}  // namespace dptrain::train
