#pragma once

// What callbacks that watch one value share: Keras's arguments `monitor` and `mode`, and when a value is better. Pure
// functions.

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "config/typed.h"
#include "experiment/logs.h"
#include "train/callback.h"

namespace dptrain::train {

enum class MonitorMode { kAuto, kMin, kMax };

/// Whether a larger value is better. For kAuto the metric or loss of that name decides. Throws Error{kUsage} if there
/// is none, which the check of a config has refused already.
bool is_larger_better(MonitorMode mode, const TrainingControl& control, const std::string& monitor);
/// Whether a monitored value is better than the best so far (none yet: yes) by more than min_delta.
bool improved(double value, const std::optional<double>& best, bool max, double min_delta);

/// Whether a value is judged at each validation: one of the validation set where validation comes every so many steps.
/// All others are judged at the ends of epochs.
bool judged_at_validation(const TrainingControl& control, const std::string& monitor);

}  // namespace dptrain::train

namespace dptrain::config {
template <>
struct EnumNames<train::MonitorMode> {
  static constexpr std::array names{std::pair{train::MonitorMode::kAuto, "auto"},
                                    std::pair{train::MonitorMode::kMin, "min"},
                                    std::pair{train::MonitorMode::kMax, "max"}};
};
}  // namespace dptrain::config
