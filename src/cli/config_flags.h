#pragma once

// `--set`, `--var` and shorthands of config keys: assignments on the tree before it is read. Wrong values are reported
// like those in the file, and the resolved config contains the result. Main thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "experiment/experiment.h"
#include "train/rate_test.h"

namespace dptrain::evaluation {
struct GateOptions;
}

namespace dptrain::cli {

struct ConfigFlags {
  std::vector<std::string> sets, variables;
  std::optional<std::string> name, split, conv, max_time, log_every;
  std::optional<std::int64_t> seed, batch_size, batch_size_per_replica, accumulate, epochs, steps;
  std::optional<double> learning_rate;
  std::optional<std::string> tensorboard;  ///< log_dir
  bool deterministic = false;

  /// --set and --var.
  void add(Command& command);
  /// Shorthands that change the arithmetic: batch, split, convolution, seed.
  void add_batch(Command& command);
  /// Shorthands for training: learning rate, stop conditions, log.
  void add_training(Command& command);
  void add_name(Command& command);

  /// Throws Error{kUsage}.
  experiment::Overrides overrides() const;
};

/// The value of --find-lr, "1e-7..10". Throws Error{kUsage}.
train::RateRange parse_rate_range(const std::string& text, const std::optional<std::int64_t>& steps);

void add_gate_flags(Command& command, evaluation::GateOptions& options);

}  // namespace dptrain::cli
