#pragma once

// The flags of `dptrain sweep`, and what they come to with the config: a plan whose every trial has a good config, and
// the devices of the trials that run side by side. Main thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/device_flags.h"
#include "experiment/experiment.h"
#include "sweep/trials.h"

namespace dptrain::cli {

struct SweepFlags {
  std::optional<std::string> config, resume, run_dir, objective, strategy, name;
  std::vector<std::string> vary, sets, variables;
  std::optional<std::int64_t> trials, seed, eta, min_epochs, epochs, parallel;
  DeviceFlags devices;
  bool dry_run = false;

  void add(Command& command);
};

/// `dptrain sweep`: starts or continues a sweep. Returns the exit code.
int run_sweep(const SweepFlags& flags, const Context& context);

/// A sweep that is to begin. `experiment` is that of its first trial.
struct NewSweep {
  sweep::Sweep sweep;
  std::string shown_config;
  experiment::Experiment experiment;
};

/// Reads the config once for each trial: whatever it refuses is said before one is trained. Throws Error{kUsage}.
NewSweep plan_sweep(const SweepFlags& flags);

/// The config that a trial has; `file`: the plan's, from where this process is. Throws Error{kUsage}.
experiment::Experiment load_trial(const sweep::Plan& plan, const sweep::Trial& trial, const std::string& file);

/// CRC-32 of a config's text.
std::uint32_t checksum_of(const std::string& file);

/// What fit is given in each slot, and says of itself: {"--gpus", "1"}.
struct SweepDevices {
  std::vector<std::vector<std::string>> flags;
  std::vector<std::string> sets{};
  std::string text;  ///< "2 trials side by side, each on 1 CPU thread"
};
/// For so many trials at most. `auto_workers`: the config leaves the loader's workers to dptrain. Throws Error{kUsage,
/// kDevice}.
SweepDevices devices_of(const SweepFlags& flags, std::int64_t trials, bool auto_workers);

}  // namespace dptrain::cli
