#pragma once

// Learning-rate schedules (Keras's equations: docs/numerics.md). Durations are turned into steps once, when the number
// of steps per epoch is known.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "config/family.h"

namespace dptrain::optim {

config::Family& schedule_family();

struct ExponentialDecaySpec {
  double initial_learning_rate = 0;
  config::Duration decay_steps;
  double decay_rate = 0;
  bool staircase = false;
};
struct PiecewiseConstantDecaySpec {
  std::vector<config::Duration> boundaries;
  std::vector<double> values;
};
struct PolynomialDecaySpec {
  double initial_learning_rate = 0;
  config::Duration decay_steps;
  double end_learning_rate = 1e-4;
  double power = 1;
  bool cycle = false;
};
struct CosineDecaySpec {
  double initial_learning_rate = 0;
  config::Duration decay_steps;
  double alpha = 0;
  std::optional<double> warmup_target;
  config::Duration warmup_steps;
};

/// A number, or a schedule of the family: `1e-3`, `CosineDecay: {...}`.
struct LearningRate {
  double constant = 0.001;
  config::Typed schedule;  ///< empty: constant
  bool is_schedule() const { return static_cast<bool>(schedule); }
};

/// The rate at an optimizer step, counted from 0 (Keras evaluates at `iterations` before the increment). Pure.
using Rate = std::function<double(std::int64_t step)>;
Rate make_rate(const LearningRate& rate, std::int64_t steps_per_epoch, std::int64_t global_batch);

}  // namespace dptrain::optim

namespace dptrain::config {
template <>
struct Value<optim::LearningRate> {
  static bool read(const Node&, Reader&, optim::LearningRate& out);
  static Node write(const optim::LearningRate&);
  static Node schema();
};
}  // namespace dptrain::config
