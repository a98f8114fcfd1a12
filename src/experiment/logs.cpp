#include "experiment/logs.h"

namespace dptrain::experiment {

void Logs::set(const std::string& name, double value) {
  for (auto& [key, old] : items_)
    if (key == name) return void(old = value);
  items_.emplace_back(name, value);
}

const double* Logs::find(const std::string& name) const {
  for (const auto& [key, value] : items_)
    if (key == name) return &value;
  return nullptr;
}

std::string Logs::names() const {
  std::string text;
  for (const auto& [key, value] : items_) text += (text.empty() ? "" : ", ") + key;
  return text;
}

}  // namespace dptrain::experiment
