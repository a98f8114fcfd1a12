#include "train/callbacks/monitor.h"

#include <cmath>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::train {

bool is_larger_better(MonitorMode mode, const TrainingControl& control, const std::string& monitor) {
  if (mode != MonitorMode::kAuto) return mode == MonitorMode::kMax;
  const nn::Direction better = control.direction_of(monitor);
  if (better == nn::Direction::kUnknown)
    throw Error(ErrorKind::kUsage, fmt::format("monitor '{}' needs a mode: min or max", monitor));
  return better == nn::Direction::kLarger;
}

bool improved(double value, const std::optional<double>& best, bool max, double min_delta) {
  if (std::isnan(value)) return false;
  if (!best) return true;
  const double delta = std::abs(min_delta);
  return max ? value - delta > *best : value + delta < *best;
}

bool is_compared_at_validation(const TrainingControl& control, const std::string& monitor) {
  return control.validates_by_steps() && monitor.starts_with("val_");
}

}  // namespace dptrain::train
