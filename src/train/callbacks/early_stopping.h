#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "train/callbacks/monitor.h"

namespace dptrain::train {

/// Keras's EarlyStopping (docs/reference/numerics.md).
struct EarlyStoppingSpec {
  std::string monitor = "val_loss";
  double min_delta = 0;
  std::int64_t patience = 0;
  MonitorMode mode = MonitorMode::kAuto;
  std::optional<double> baseline{};
  bool restore_best_weights = false;
  std::int64_t start_from_epoch = 0;
};

}  // namespace dptrain::train
