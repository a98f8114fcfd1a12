#pragma once

// The definition of a callback as far as a config goes: its keys, what it wants of the rest of the config, the files it
// writes. One per callback, registered by the module that runs them (train/callbacks/<name>.cpp). The registry is
// filled before main and read-only afterwards: any thread may read it.

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

/// The parts of a config that callbacks can read, and where they report what does not fit. One for all of a config's
/// callbacks, in their order.
class CallbackCheck {
 public:
  /// `graph` decides the names of the values; null where it could not be built or where nothing will call the
  /// callbacks: then the names are not known. Reports at the callback's place.
  CallbackCheck(config::Reader& reader, const ConfigFile& file, const graph::Graph* graph);

  const ConfigFile& file() const { return file_; }
  /// Whether `train.optimizer` has a schedule for a learning rate.
  bool has_schedule() const;
  /// Whether validation comes every so many steps, not at the ends of epochs.
  bool validates_by_steps() const;
  bool knows_values() const { return knows_values_; }
  /// Values of an epoch with validation, each name with some number.
  const Logs& values() const { return epoch_; }
  /// Values of every epoch: without validation in each epoch only those of training.
  const Logs& values_of_every_epoch() const { return every_epoch_; }

  /// One error at the place of the callback that is being checked: "EarlyStopping: <message>".
  void error(const std::string& message);
  /// Reports a message that already names the callback.
  void error_as_is(const std::string& message);
  /// Reports a value that no epoch has. With `needs_direction` also reports a value without a direction.
  void require_value(const std::string& name, bool needs_direction);
  /// This callback adds a value that the callbacks after it see.
  void adds(const std::string& name);
  /// False where another callback has the file already.
  bool claim(const std::string& file) { return claimed_.insert(file).second; }

 private:
  friend void check_callbacks(config::Reader& reader, const ConfigFile& file, const graph::Graph* graph);

  config::Reader& reader_;
  const ConfigFile& file_;
  const CallbackConfig* callback_ = nullptr;
  bool knows_values_ = false;
  Logs epoch_, every_epoch_;
  std::vector<LoggedValue> logged_;
  std::set<std::string> claimed_;
};

struct CallbackType : config::TypeDef {
  /// Reports what does not fit. May be empty.
  std::function<void(const void* spec, CallbackCheck& check)> check;
  /// Files and folders of its own, relative to the run's folder; checkpoints are not among them. May be empty.
  std::function<std::vector<std::string>(const void* spec)> files;
};

/// The definition of a callback of a config.
const CallbackType& type_of(const CallbackConfig& callback);

/// Lets each definition look at its callback, in their order. A config is refused when it is read, not when an epoch is
/// over. Pure.
void check_callbacks(config::Reader& reader, const ConfigFile& file, const graph::Graph* graph);

/// Every file or folder that a config's callbacks write, relative to the run's folder.
std::vector<std::string> callback_files(const ConfigFile& file);

/// Whether a path leads to a file below the folder that it starts from: relative, with a name, without "..".
bool stays_inside(const std::string& path);

}  // namespace dptrain::experiment
