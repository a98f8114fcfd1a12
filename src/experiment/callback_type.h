#pragma once

// The definition of a callback for configs: its keys, its checks against other sections, and its files. Each
// train/callbacks/<name>.cpp registers one before main; the registry is read-only afterwards, for any thread.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "config/family.h"
#include "config/reader.h"
#include "experiment/logs.h"
#include "experiment/objectives.h"
#include "experiment/sections.h"
#include "graph/graph.h"

namespace dptrain::experiment {

/// Gives callbacks access to a config and reports their errors. One object checks all callbacks in order.
class CallbackCheck {
 public:
  /// `graph` names the values; null if it could not be built or if nothing calls the callbacks.
  CallbackCheck(config::Reader& reader, const ConfigFile& file, const graph::Graph* graph);

  const ConfigFile& file() const { return file_; }
  /// Whether `train.optimizer` has a schedule for a learning rate.
  bool has_schedule() const;
  /// Whether validation runs every N steps instead of at the ends of epochs.
  bool validates_by_steps() const;
  bool has_known_values() const { return has_known_values_; }
  /// Values of an epoch with validation, each with an arbitrary number.
  const Logs& values() const { return epoch_; }
  /// Values of every epoch: those of validation only if each epoch has one.
  const Logs& values_of_every_epoch() const { return every_epoch_; }

  /// Reports an error at the location of the callback being checked: "EarlyStopping: <message>".
  void error(const std::string& message);
  /// Reports a message that already names the callback.
  void error_without_prefix(const std::string& message);
  /// Reports a value that no epoch has. With `needs_direction` also reports a value without a direction.
  void require_value(const std::string& name, bool needs_direction);
  /// Adds a value of this callback, which later callbacks can read.
  void add_value(const std::string& name);
  /// Claims a file; false if another callback has it already.
  bool claim(const std::string& file) { return claimed_.insert(file).second; }

 private:
  friend void check_callbacks(config::Reader& reader, const ConfigFile& file, const graph::Graph* graph);

  config::Reader& reader_;
  const ConfigFile& file_;
  const CallbackConfig* callback_ = nullptr;
  bool has_known_values_ = false;
  Logs epoch_, every_epoch_;
  std::vector<LoggedValue> logged_;
  std::set<std::string> claimed_;
};

struct CallbackType : config::TypeDef {
  /// Reports conflicts with the rest of the config. May be empty.
  std::function<void(const void* spec, CallbackCheck& check)> check;
  /// Its files and folders relative to the run's folder, without checkpoints. May be empty.
  std::function<std::vector<std::string>(const void* spec)> files;
};

const CallbackType& type_of(const CallbackConfig& callback);

/// Calls each definition's check, in the order of the callbacks, so that errors appear when the config is read. Pure.
void check_callbacks(config::Reader& reader, const ConfigFile& file, const graph::Graph* graph);

/// Every file or folder that a config's callbacks write, relative to the run's folder.
std::vector<std::string> callback_files(const ConfigFile& file);

/// Whether a path leads to a file below its starting folder: relative, with a name, without "..".
bool is_inside_folder(const std::string& path);

}  // namespace dptrain::experiment
