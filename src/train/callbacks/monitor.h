#pragma once

// For callbacks that monitor one value: Keras's arguments `monitor` and `mode`, and the comparison. Pure functions.

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "config/typed.h"
#include "experiment/logs.h"
#include "train/callback.h"

namespace dptrain::train {

enum class MonitorMode { kAuto, kMin, kMax };

/// Whether larger values are better; for kAuto the metric or loss of that name decides. Throws Error{kUsage} if there
/// is none, which the check of a config has already rejected.
bool is_larger_better(MonitorMode mode, const TrainingControl& control, const std::string& monitor);
/// Whether a value beats the best so far (if any) by more than min_delta.
bool improved(double value, const std::optional<double>& best, bool max, double min_delta);

/// Whether a value is compared after each validation: a "val_..." value with validation every N steps. All others are
/// compared at epoch ends.
bool is_compared_at_validation(const TrainingControl& control, const std::string& monitor);

}  // namespace dptrain::train

namespace dptrain::config {
template <>
struct EnumNames<train::MonitorMode> {
  static constexpr std::array names{std::pair{train::MonitorMode::kAuto, "auto"},
                                    std::pair{train::MonitorMode::kMin, "min"},
                                    std::pair{train::MonitorMode::kMax, "max"}};
};
}  // namespace dptrain::config
