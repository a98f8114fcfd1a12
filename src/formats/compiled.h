#pragma once

// How a model was trained, for the formats that say it.

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

/// What the optimizer had gathered when the weights were taken.
struct OptimizerState {
  std::int64_t iterations = 0;      ///< steps done
  std::vector<NamedArray> slots{};  ///< its own and "average/...", of every trained weight; perhaps others
};

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

}  // namespace dptrain::formats
