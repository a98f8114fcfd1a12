#pragma once

// What a sweep was asked for, its trials, and how each of them stands: the state that sweep.json keeps. Values; one
// thread at a time.

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
  std::string config;                  ///< as the user wrote it, relative to `directory`
  std::string directory;               ///< absolute: where the sweep was started, and trials are
  std::uint32_t config_checksum = 0;   ///< CRC-32 of the config's text
  std::vector<std::string> sets;       ///< `--set` of all trials, in order
  std::vector<std::string> variables;  ///< `--var`
  std::vector<std::string> vary;       ///< `--vary`, as written
  Strategy strategy = Strategy::kRandom;
  std::int64_t trials = 0;
  std::uint64_t seed = 0;             ///< of the draws
  std::string objective;              ///< a column of train.csv
  bool larger_wins = false;           ///< of its values
  std::int64_t eta = 3;               ///< halving: of eta trials one goes on, for eta times the epochs
  std::vector<std::int64_t> rungs{};  ///< halving: epochs in all at the end of each; empty: as the config says

  std::vector<Varied> space() const;
  std::size_t last_rung() const { return rungs.empty() ? 0 : rungs.size() - 1; }
};

/// `most`, and from there down divided by eta, rounded, as long as it is `least` or more; ascending.
std::vector<std::int64_t> rungs_of(std::int64_t least, std::int64_t most, std::int64_t eta);

enum class Status { kWaiting, kRunning, kDone, kFailed };
std::string name_of(Status status);

/// What a trial has come to so far.
struct Outcome {
  int exit_code = 0;                  ///< of fit; 128 and the number of a signal that ended it
  std::string exit{};                 ///< of result.json: "completed", "early_stopping", ...; "" without one
  std::string reason{};               ///< why it failed, in the words of the run
  std::optional<double> objective{};  ///< the best of its epochs
  std::int64_t best_epoch = 0;        ///< counted from 1
  std::int64_t epochs = 0;
  double seconds = 0;  ///< of training and validation
};

struct Trial {
  std::int64_t number = 0;  ///< from 1
  Values values{};
  Status status = Status::kWaiting;
  std::size_t rung = 0;  ///< that it has reached, is at or waits for
  Outcome outcome{};

  std::string folder() const;  ///< "007"
  /// Nothing of it is left to train, whatever the number of epochs.
  bool ended_early() const { return outcome.exit == "early_stopping" || outcome.exit == "max_time"; }
};

struct Sweep {
  Plan plan;
  std::vector<Trial> trials;
};

/// All trials of a plan, waiting.
std::vector<Trial> trials_of(const Plan& plan);

/// "KEY=VALUE" of each varied key.
std::vector<std::string> assignments(const Plan& plan, const Trial& trial);
/// All of `--set` for a trial: those of the plan, then the varied ones; but one that would replace what another sets
/// below its key (train.optimizer and train.optimizer.learning_rate) comes before that.
std::vector<std::string> sets_of(const Plan& plan, const Trial& trial);

/// Places of the trials, best first: those of later rungs before those of earlier ones, then by the objective, then by
/// number; then those without a value, and last those that failed.
std::vector<std::size_t> ranking(const Sweep& sweep);

/// Whether one value of the objective is better than another.
inline bool better(const Plan& plan, double a, double b) { return plan.larger_wins ? a > b : a < b; }

}  // namespace dptrain::sweep
