#include "experiment/callback_type.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "nn/metric.h"
#include "nn/optimizer.h"

namespace dptrain::experiment {
namespace fs = std::filesystem;
namespace {

/// An arbitrary value: only the names matter.
constexpr double kSomeValue = 1;

}  // namespace

config::Family& callback_family() {
  static config::Family family("callback");
  return family;
}

CallbackCheck::CallbackCheck(config::Reader& reader, const ConfigFile& file, const graph::Graph* graph)
    : reader_(reader), file_(file) {
  if (graph == nullptr || graph->outputs.empty()) return;
  try {
    logged_ = logged_values(file.train, *graph, static_cast<bool>(file.data.validation));
  } catch (const Error&) {  // a metric does not fit its output, which the plan reports
    return;
  }
  has_known_values_ = true;
  const bool validates_each_epoch = !validates_by_steps() && file.train.validate_every.value == 1;
  for (const LoggedValue& value : logged_) {
    epoch_.set(value.name, kSomeValue);
    if (validates_each_epoch || !value.name.starts_with("val_")) every_epoch_.set(value.name, kSomeValue);
  }
}

bool CallbackCheck::has_schedule() const {
  return file_.train.optimizer && nn::common(file_.train.optimizer).learning_rate.is_schedule();
}

bool CallbackCheck::validates_by_steps() const {
  return file_.train.validate_every.unit == config::Duration::Unit::kSteps;
}

void CallbackCheck::error(const std::string& message) { error_without_prefix(callback_->name() + ": " + message); }
void CallbackCheck::error_without_prefix(const std::string& message) { reader_.error(callback_->mark(), message); }

void CallbackCheck::require_value(const std::string& name, bool needs_direction) {
  if (!has_known_values_) return;
  if (epoch_.find(name) != nullptr) {
    if (needs_direction && direction_of(logged_, name) == nn::Direction::kUnknown)
      error(fmt::format("mode is required: no metric defines whether a larger '{}' is better; give mode: min or max",
                        name));
    return;
  }
  std::vector<std::string> known;
  for (const auto& [key, value] : epoch_.items()) known.push_back(key);
  const bool no_validation = name.starts_with("val_") && !file_.data.validation;
  error(fmt::format("there is no '{}' to monitor; there are {}{}", name, epoch_.names(),
                    no_validation ? "; data.validation is missing" : did_you_mean(name, known)));
}

void CallbackCheck::add_value(const std::string& name) {
  for (Logs* logs : {&epoch_, &every_epoch_}) logs->set(name, kSomeValue);
}

const CallbackType& type_of(const CallbackConfig& callback) { return static_cast<const CallbackType&>(callback.def()); }

void check_callbacks(config::Reader& reader, const ConfigFile& file, const graph::Graph* graph) {
  CallbackCheck check(reader, file, graph);
  for (const CallbackConfig& callback : file.callbacks) {
    if (!callback) continue;  // reported already
    check.callback_ = &callback;
    if (const auto& own = type_of(callback).check) own(callback.spec(), check);
  }
}

std::vector<std::string> callback_files(const ConfigFile& file) {
  std::vector<std::string> all;
  for (const CallbackConfig& callback : file.callbacks)
    if (const auto& own = type_of(callback).files; own)
      for (std::string& name : own(callback.spec())) all.push_back(std::move(name));
  return all;
}

bool is_inside_folder(const std::string& path) {
  const fs::path given(path);
  return !path.empty() && given.is_relative() && given.has_filename() && given.filename() != "." &&
         std::ranges::find(given, fs::path("..")) == given.end() && path.find('\0') == std::string::npos;
}

}  // namespace dptrain::experiment
