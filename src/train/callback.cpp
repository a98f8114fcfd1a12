#include "train/callback.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "optim/metric.h"

namespace dptrain::train {

nlohmann::json Callback::save() const { return nlohmann::json::object(); }
void Callback::restore(const nlohmann::json&) {}
const std::vector<std::vector<float>>& Callback::kept_weights() const {
  static const std::vector<std::vector<float>> none;
  return none;
}
void Callback::restore_weights(std::vector<std::vector<float>>) {}

std::unique_ptr<Callback> make_callback(const config::Typed& spec) {
  if (const auto* s = spec.get_if<experiment::ModelCheckpointSpec>()) return make_model_checkpoint(*s);
  if (const auto* s = spec.get_if<experiment::EarlyStoppingSpec>()) return make_early_stopping(*s);
  if (const auto* s = spec.get_if<experiment::ReduceLROnPlateauSpec>()) return make_reduce_lr_on_plateau(*s);
  if (const auto* s = spec.get_if<experiment::CSVLoggerSpec>()) return make_csv_logger(*s);
  if (spec.get_if<experiment::TerminateOnNaNSpec>() != nullptr) return make_terminate_on_nan();
  if (spec.get_if<experiment::TimeHistorySpec>() != nullptr) return make_time_history();
  throw Error(ErrorKind::kInternal, "no implementation of callback " + spec.name());
}

bool wants_max(experiment::MonitorMode mode, const std::string& monitor) {
  if (mode != experiment::MonitorMode::kAuto) return mode == experiment::MonitorMode::kMax;
  return optim::is_larger_better(monitor);
}

bool improved(double value, const std::optional<double>& best, bool max, double min_delta) {
  if (std::isnan(value)) return false;
  if (!best) return true;
  const double delta = std::abs(min_delta);
  return max ? value - delta > *best : value + delta < *best;
}

}  // namespace dptrain::train
