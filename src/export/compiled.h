#pragma once

// How a model was trained, for the formats that say it.

#include <string>
#include <vector>

#include "config/family.h"

namespace dptrain::exporting {

struct Compiled {
  config::Typed optimizer;
  double learning_rate = 0;  ///< current
  struct Output {
    std::string name{};  ///< "" where the model has one
    config::Typed loss{};
    double weight = 1;
    std::vector<config::Typed> metrics{};
  };
  std::vector<Output> outputs{};  ///< those that have a loss
};

}  // namespace dptrain::exporting
