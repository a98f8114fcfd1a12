#include "train/callbacks/monitor.h"

#include <cmath>

#include "core/format.h"
#include "core/log.h"
#include "optim/metric.h"

namespace dptrain::train {

bool wants_max(MonitorMode mode, const std::string& monitor) {
  if (mode != MonitorMode::kAuto) return mode == MonitorMode::kMax;
  return optim::is_larger_better(monitor);
}

bool improved(double value, const std::optional<double>& best, bool max, double min_delta) {
  if (std::isnan(value)) return false;
  if (!best) return true;
  const double delta = std::abs(min_delta);
  return max ? value - delta > *best : value + delta < *best;
}

bool judged_at_validation(const TrainingControl& control, const std::string& monitor) {
  return control.validates_by_steps() && monitor.starts_with("val_");
}

const double* find_monitored(const experiment::Logs& logs, const std::string& monitor, const char* callback) {
  const double* value = logs.find(monitor);
  if (value == nullptr)
    log::warn(fmt::format("{}: there is no '{}' to monitor; there are {}", callback, monitor, logs.names()));
  return value;
}

}  // namespace dptrain::train
