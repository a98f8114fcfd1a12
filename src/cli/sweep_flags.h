#pragma once

// The flags of `dptrain sweep`, and the plan and devices that they select. Main thread.

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

/// Starts or continues a sweep. Returns the exit code.
int run_sweep(const SweepFlags& flags, const Context& context);

/// A new sweep, and the experiment of its first trial.
struct NewSweep {
  sweep::Sweep sweep;
  std::string shown_config;
  experiment::Experiment experiment;
};

/// Checks the config of every trial before one is trained. Throws Error{kUsage}.
NewSweep plan_sweep(const SweepFlags& flags);

/// The config of a trial; `file`: the path of the plan's config for this process. Throws Error{kUsage}.
experiment::Experiment load_trial(const sweep::Plan& plan, const sweep::Trial& trial, const std::string& file);

std::uint32_t checksum_of(const std::string& file);

/// Arguments of fit for each slot, {"--gpus", "1"}, and their description.
struct SweepDevices {
  std::vector<std::vector<std::string>> flags;
  std::vector<std::string> sets{};
  std::string text;  ///< "2 trials side by side, each on 1 CPU thread"
};
/// For at most `trials` trials. `auto_workers`: data.loader.workers is not set. Throws Error{kUsage, kDevice}.
SweepDevices devices_of(const SweepFlags& flags, std::int64_t trials, bool auto_workers);

}  // namespace dptrain::cli
