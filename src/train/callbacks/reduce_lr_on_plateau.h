#pragma once

#include <cstdint>
#include <string>

#include "train/callbacks/monitor.h"

namespace dptrain::train {

/// Keras's ReduceLROnPlateau (docs/reference/numerics.md).
struct ReduceLROnPlateauSpec {
  std::string monitor = "val_loss";
  double factor = 0.1;
  std::int64_t patience = 10;
  MonitorMode mode = MonitorMode::kAuto;
  double min_delta = 1e-4;
  std::int64_t cooldown = 0;
  double min_lr = 0;
};

}  // namespace dptrain::train
