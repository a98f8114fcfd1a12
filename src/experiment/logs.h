#pragma once

// Logs: the values of an epoch by name. A value, one thread at a time.

#include <string>
#include <utility>
#include <vector>

namespace dptrain::experiment {

/// "loss", "accuracy", "val_loss", ... for an epoch, in Keras's order.
class Logs {
 public:
  void set(const std::string& name, double value) {
    for (auto& [key, old] : items_)
      if (key == name) return void(old = value);
    items_.emplace_back(name, value);
  }
  const double* find(const std::string& name) const {
    for (const auto& [key, value] : items_)
      if (key == name) return &value;
    return nullptr;
  }
  const std::vector<std::pair<std::string, double>>& items() const { return items_; }
  /// "loss, accuracy, val_loss", for messages
  std::string names() const {
    std::string text;
    for (const auto& [key, value] : items_) text += (text.empty() ? "" : ", ") + key;
    return text;
  }

 private:
  std::vector<std::pair<std::string, double>> items_;
};

}  // namespace dptrain::experiment
