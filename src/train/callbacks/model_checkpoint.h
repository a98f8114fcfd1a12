#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/typed.h"
#include "experiment/logs.h"
#include "train/callbacks/monitor.h"

namespace dptrain::train {

/// Keras's ModelCheckpoint (docs/reference/numerics.md).
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

/// Formats like Python's "{epoch:02d}-{val_loss:.2f}". Throws Error{kUsage} for a name that the logs do not have.
std::string format_filepath(const std::string& pattern, std::int64_t epoch_from_1, std::int64_t batch_from_1,
                            const experiment::Logs& logs);

}  // namespace dptrain::train
