#pragma once

// What callbacks that watch one value share: Keras's arguments `monitor` and `mode`, and when a value is better. Pure
// functions.

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "config/value.h"
#include "experiment/logs.h"
#include "train/callback.h"

namespace dptrain::train {

enum class MonitorMode { kAuto, kMin, kMax };

/// Keras's rule for `mode: auto`: max for names with acc, auc, precision, recall, f1, top_k or iou, else min.
bool wants_max(MonitorMode mode, const std::string& monitor);
/// Whether a monitored value is better than the best so far (none yet: yes) by more than min_delta.
bool improved(double value, const std::optional<double>& best, bool max, double min_delta);

/// Whether a value is judged at each validation: one of the validation set where validation comes every so many steps.
/// All others are judged at the ends of epochs.
bool judged_at_validation(const TrainingControl& control, const std::string& monitor);

/// The monitored value; where there is none it warns, in the name of `callback`, and gives null.
const double* find_monitored(const experiment::Logs& logs, const std::string& monitor, const char* callback);

}  // namespace dptrain::train

namespace dptrain::config {
template <>
struct EnumNames<train::MonitorMode> {
  static constexpr std::array names{std::pair{train::MonitorMode::kAuto, "auto"},
                                    std::pair{train::MonitorMode::kMin, "min"},
                                    std::pair{train::MonitorMode::kMax, "max"}};
};
}  // namespace dptrain::config
