#pragma once

// How a model was trained, for formats that store it.

#include <cstdint>
#include <string>
#include <vector>

#include "config/typed.h"
#include "core/shape.h"

namespace dptrain::formats {

/// A float array of a run's state, per weight: "velocity/conv1/kernel".
struct NamedArray {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

/// State of an optimizer at the time of the snapshot.
struct OptimizerState {
  std::int64_t iterations = 0;      ///< steps done
  std::vector<NamedArray> slots{};  ///< slots and "average/..." of every trained weight, possibly more
};

struct CompileConfig {
  config::Typed optimizer;
  double learning_rate = 0;  ///< current
  struct Output {
    std::string name{};  ///< "" if the model has one output
    config::Typed loss{};
    double weight = 1;
    std::vector<config::Typed> metrics{};
  };
  std::vector<Output> outputs{};  ///< with a loss
};

}  // namespace dptrain::formats
