#pragma once

// What the config says of callbacks, with Keras's names and arguments; train/callback.h is what they do. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include "config/family.h"
#include "experiment/logs.h"

namespace dptrain::experiment {

enum class MonitorMode { kAuto, kMin, kMax };

struct ModelCheckpointSpec {
  std::optional<std::string> filepath{};  ///< Python format: "oct-{epoch:02d}-{val_accuracy:.3f}.h5"
  std::optional<std::string> monitor{};   ///< absent: val_loss if there is a validation set, else loss
  bool save_best_only = false;
  bool save_weights_only = false;
  MonitorMode mode = MonitorMode::kAuto;
  std::optional<config::Duration> save_freq{};  ///< absent: every epoch
  std::optional<double> initial_value_threshold{};
  std::int64_t max_to_keep = 2;
};
struct EarlyStoppingSpec {
  std::string monitor = "val_loss";
  double min_delta = 0;
  std::int64_t patience = 0;
  MonitorMode mode = MonitorMode::kAuto;
  std::optional<double> baseline{};
  bool restore_best_weights = false;
  std::int64_t start_from_epoch = 0;
};
struct ReduceLROnPlateauSpec {
  std::string monitor = "val_loss";
  double factor = 0.1;
  std::int64_t patience = 10;
  MonitorMode mode = MonitorMode::kAuto;
  double min_delta = 1e-4;
  std::int64_t cooldown = 0;
  double min_lr = 0;
};
struct CSVLoggerSpec {
  std::string filename = "log.csv";
  std::string separator = ",";
  bool append = false;
};
struct TerminateOnNaNSpec {};
struct TimeHistorySpec {};

/// Python's "{epoch:02d}-{val_loss:.2f}"; throws Error{kUsage} for a name that logs do not have.
std::string format_filepath(const std::string& pattern, std::int64_t epoch_from_1, std::int64_t batch_from_1,
                            const Logs& logs);

}  // namespace dptrain::experiment
