#pragma once

// Logs: the values of an epoch by name. A value, one thread at a time.

#include <string>
#include <utility>
#include <vector>

namespace dptrain::experiment {

/// "loss", "accuracy", "val_loss", ... of an epoch, in the order in which Keras reports them.
class Logs {
 public:
  void set(const std::string& name, double value);
  const double* find(const std::string& name) const;
  const std::vector<std::pair<std::string, double>>& items() const { return items_; }
  std::string names() const;  ///< "loss, accuracy, val_loss" for messages

 private:
  std::vector<std::pair<std::string, double>> items_;
};

}  // namespace dptrain::experiment
