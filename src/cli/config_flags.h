#pragma once

// What the command line may change in a config: `--set`, `--var`, and shorthands of config keys. The shorthands become
// assignments on the tree before anything is read, so a wrong value is reported like one in the file, and the resolved
// config shows what was run. Main thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "experiment/experiment.h"

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
  /// Shorthands of what changes the arithmetic: batch, split, convolution, seed.
  void add_batch(Command& command);
  /// Shorthands of what training has: learning rate, stop conditions, log.
  void add_training(Command& command);
  /// `--name`.
  void add_name(Command& command);

  /// Throws Error{kUsage}.
  experiment::Overrides overrides() const;
};

/// --gates, --junit, --annotations.
void add_gate_flags(Command& command, evaluation::GateOptions& options);

}  // namespace dptrain::cli
