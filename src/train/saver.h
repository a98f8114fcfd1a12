#pragma once

// Saver: writes a run's checkpoints while training goes on, and keeps account of what that costs. Owned by the trainer,
// on its thread; the files are written by a thread of the checkpoint room. In a process without the run's directory it
// writes and removes nothing.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/writer.h"
#include "core/error.h"
#include "export/exporter.h"
#include "train/run_directory.h"

namespace dptrain::train {

class Saver {
 public:
  explicit Saver(const RunDirectory& run);

  /// A snapshot under checkpoints/<name>. `job` without its paths; it is asked for at once, and the time that takes
  /// counts as part of the save.
  void submit(const std::vector<std::string>& names, const std::function<checkpoint::Job()>& job);
  /// Waits; whether the last save of that name went well.
  bool is_saved(const std::string& name);
  /// Waits; removes a checkpoint if its successor is_saved().
  void remove(const std::string& name, const std::string& successor);
  /// The file to hand on: no private state. What is returned has been warned of.
  std::optional<Error> export_model(const exporting::Exported& exported);
  /// Until everything is on disk; the error of the last save if it failed.
  std::optional<Error> drain();

  /// Between these two now_or_later() keeps its actions: what callbacks ask for at an epoch's end waits until all of
  /// them have seen it, for a file holds their state too.
  void hold_back() { holds_back_ = true; }
  void catch_up();
  void now_or_later(std::function<void()> action);

  std::int64_t saves() const { return saves_; }
  double stall() const { return stall_; }  ///< seconds that training stood still for them

 private:
  const RunDirectory& run_;
  std::mutex mutex_;
  std::set<std::string>
      failed_;                 ///< paths whose last save went wrong; under mutex_, for the writer's thread adds to it
  checkpoint::Writer writer_;  ///< after what its thread uses
  bool holds_back_ = false;
  std::vector<std::function<void()>> held_back_;
  std::int64_t saves_ = 0;
  double stall_ = 0;
};

}  // namespace dptrain::train
