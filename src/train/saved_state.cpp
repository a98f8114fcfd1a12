#include "train/saved_state.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::train {

std::int64_t saved_count(const nlohmann::json& state, const char* name) {
  const auto count = state.value(name, std::int64_t{0});
  if (count < 0 || count > (std::int64_t{1} << 48))
    throw Error(ErrorKind::kCheckpoint, fmt::format("the checkpoint's training state says {} {}", name, count));
  return count;
}

double saved_number(const nlohmann::json& value) { return value.is_null() ? std::nan("") : value.get<double>(); }

std::optional<double> saved_best(const nlohmann::json& state) {
  const auto found = state.find("best");
  return found == state.end() || found->is_null() ? std::nullopt : std::optional(found->get<double>());
}

nlohmann::json logs_json(const experiment::Logs& logs) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, value] : logs.items()) list.push_back({name, value});
  return list;
}

experiment::Logs saved_logs(const nlohmann::json& saved) {
  experiment::Logs logs;
  for (const nlohmann::json& entry : saved) logs.set(entry.at(0).get<std::string>(), saved_number(entry.at(1)));
  return logs;
}

}  // namespace dptrain::train
