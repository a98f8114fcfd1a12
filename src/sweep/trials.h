#pragma once

// The plan of a sweep and the state of its trials, as stored in sweep.json. Values; one thread at a time.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sweep/space.h"

namespace dptrain::sweep {

enum class Strategy { kGrid, kRandom, kHalving };
std::string name_of(Strategy strategy);
Strategy strategy_of(const std::string& name);  ///< throws Error{kUsage}

struct Plan {
  std::string config;                  ///< as written by the user, relative to `directory`
  std::string directory;               ///< absolute; working directory of the sweep and its trials
  std::uint32_t config_checksum = 0;   ///< CRC-32 of the config's text
  std::vector<std::string> sets;       ///< `--set` for all trials, in order
  std::vector<std::string> variables;  ///< `--var`
  std::vector<std::string> vary;       ///< `--vary`, as written
  Strategy strategy = Strategy::kRandom;
  std::int64_t trials = 0;
  std::uint64_t seed = 0;  ///< seed of random values
  std::string objective;   ///< a column of train.csv
  bool larger_wins = false;
  std::int64_t eta = 3;               ///< halving: one of eta trials continues, for eta times the epochs
  std::vector<std::int64_t> rungs{};  ///< halving: total epochs at the end of each; empty: as configured

  std::vector<SweepParameter> space() const;
  std::size_t last_rung() const { return rungs.empty() ? 0 : rungs.size() - 1; }
};

/// `most`, then repeatedly divided by eta and rounded while it is at least `least`; in ascending order.
std::vector<std::int64_t> rungs_of(std::int64_t least, std::int64_t most, std::int64_t eta);

enum class Status { kWaiting, kRunning, kDone, kFailed };
std::string name_of(Status status);

/// Results of a trial so far.
struct Outcome {
  int exit_code = 0;                  ///< of fit; 128 + the number of the signal that ended it
  std::string exit{};                 ///< from result.json: "completed", "early_stopping", ...; "" if missing
  std::string reason{};               ///< why it failed, as reported by the run
  std::optional<double> objective{};  ///< best value over its epochs
  std::int64_t best_epoch = 0;        ///< counted from 1
  std::int64_t epochs = 0;
  double seconds = 0;  ///< training and validation

  /// Nothing is left to train, whatever the number of epochs.
  bool ended_early() const { return exit == "early_stopping" || exit == "max_time"; }
};

struct Trial {
  std::int64_t number = 0;  ///< from 1
  Values values{};
  Status status = Status::kWaiting;
  std::size_t rung = 0;  ///< completed, running or waited for
  Outcome outcome{};

  std::string folder() const;  ///< "007"
  bool is_left() const { return status == Status::kWaiting || status == Status::kRunning; }
};

struct Sweep {
  Plan plan;
  std::vector<Trial> trials;
};

/// All trials of a plan, waiting.
std::vector<Trial> trials_of(const Plan& plan);

/// "KEY=VALUE" of each varied key.
std::vector<std::string> assignments(const Plan& plan, const Trial& trial);
/// All `--set` options of a trial: those of the plan, then the varied keys. A varied key precedes the options for keys
/// below it, which it would otherwise replace (train.optimizer and train.optimizer.learning_rate).
std::vector<std::string> sets_of(const Plan& plan, const Trial& trial);

/// Indices of the trials, best first: later rungs first, then by objective, then by number; then those without a value,
/// and last those that failed.
std::vector<std::size_t> ranking(const Sweep& sweep);

inline bool better(const Plan& plan, double a, double b) { return plan.larger_wins ? a > b : a < b; }

}  // namespace dptrain::sweep
