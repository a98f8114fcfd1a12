// dptrain sweep: trains a config with different values of some keys, several at a time, and ranks them.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/sweep_flags.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "plot/file.h"
#include "sweep/results.h"
#include "sweep/runner.h"
#include "sweep/schedule.h"
#include "sweep/sweep_file.h"
#include "train/line_file.h"
#include "train/progress.h"
#include "train/run_directory.h"
#include "train/signals.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

constexpr double kOrphanSeconds = 120;

/// Creates and locks the folder of a new sweep. Throws if it is not empty.
train::RunLock make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error(ErrorKind::kWrite,
                fmt::format("{}: cannot write: {}; choose another folder with --run-dir", folder, error.message()));
  train::RunLock lock(folder);
  if (sweep::is_sweep(folder))
    throw Error(ErrorKind::kUsage, fmt::format("--run-dir: {0} has a sweep; dptrain resume {0} continues it; or "
                                               "choose another folder",
                                               folder));
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename() != ".lock")
      throw Error(ErrorKind::kUsage, fmt::format("--run-dir: {} is not empty; choose another folder", folder));
  return lock;
}

/// Shows the progress, saves the state of the sweep and reports the signal to stop.
class Screen final : public sweep::Watcher {
 public:
  Screen(std::string folder, const sweep::Sweep& sweep, train::ProgressMode mode)
      : folder_(std::move(folder)), progress_(mode), began_done_(done_in(sweep)) {}

  void save(const sweep::Sweep& sweep) override { sweep::write_sweep(folder_, sweep); }

  void ended(const sweep::Sweep& sweep, const sweep::Trial& trial) override {
    const std::string value =
        trial.outcome.objective && trial.status == sweep::Status::kDone
            ? fmt::format("{} {}, {}", sweep.plan.objective, metric_text(*trial.outcome.objective),
                          counted(trial.outcome.epochs, "epoch"))
            : "failed: " + trial.outcome.reason;
    log::info(fmt::format("trial {}: {}; {}", trial.number, value, sweep::values_text(sweep.plan, trial)));
  }

  void tick(const sweep::Sweep& sweep) override {
    if (!progress_.visible()) return;
    const auto [done, all] = done_in(sweep);
    const auto running = std::ranges::count(sweep.trials, sweep::Status::kRunning, &sweep::Trial::status);
    std::string values = fmt::format(" - {} running", running);
    if (const auto best = sweep::best_of(sweep))
      values += fmt::format(" - best {} {} (trial {})", sweep.plan.objective,
                            metric_text(*sweep.trials[*best].outcome.objective), sweep.trials[*best].number);
    progress_.draw({.done = done - began_done_.first,
                    .total = all - began_done_.first,
                    .seconds = watch_.seconds(),
                    .values = values});
  }

  bool should_stop() override { return train::Signals::stop_signal() != 0; }

  void end() { progress_.clear(); }

 private:
  static std::pair<std::int64_t, std::int64_t> done_in(const sweep::Sweep& sweep) {
    sweep::Sweep copy = sweep;
    const sweep::Schedule schedule(copy);
    return {static_cast<std::int64_t>(schedule.runs_done()), static_cast<std::int64_t>(schedule.runs_in_all())};
  }

  std::string folder_;
  train::Progress progress_;
  std::pair<std::int64_t, std::int64_t> began_done_;
  Stopwatch watch_;
};

void write_results(const std::string& folder, const sweep::Sweep& sweep, const std::string& name) {
  const auto file = [&](const char* its_name) { return (fs::path(folder) / its_name).string(); };
  train::write_text(file("sweep.csv"), sweep::csv_of(sweep));
  plot::write(file("sweep.svg"), plot::draw(sweep::chart_of(sweep, name)));
}

/// All `--set` for the best trial, without the sweep's --epochs if it is less than the config's.
std::vector<std::string> final_sets(const sweep::Plan& plan, const sweep::Trial& trial) {
  const std::size_t count = plan.sets.size();
  const bool has_epochs =
      count >= 2 && plan.sets[count - 2].starts_with("train.epochs=") && plan.sets[count - 1] == "train.steps=null";
  if (!has_epochs) return sweep::sets_of(plan, trial);  // no --epochs
  sweep::Plan whole = plan;
  whole.sets.resize(count - 2);
  try {
    const auto usual = load_trial(whole, trial, plan.config).config.train.epochs;  // none: it counts steps
    const auto tried = load_trial(plan, trial, plan.config).config.train.epochs;
    return sweep::sets_of(usual && *tried >= *usual ? plan : whole, trial);
  } catch (const Error& incomplete) {  // the config has neither epochs nor steps
    return sweep::sets_of(plan, trial);
  }
}

/// The command that trains the best trial once more: "dptrain fit net.yaml --set a=b".
std::string fit_line(const sweep::Plan& plan, const sweep::Trial& trial) {
  std::string line = "dptrain fit " + shell_quoted(plan.config);
  for (const std::string& set : final_sets(plan, trial)) line += " --set " + shell_quoted(set);
  for (const std::string& variable : plan.variables) line += " --var " + shell_quoted(variable);
  return line;
}

int report(const SweepFlags& flags, const std::string& folder, const sweep::Sweep& sweep) {
  if (log::is_json())
    print_text(sweep::text_of(sweep));
  else
    print_fitted(join(sweep::table_of(sweep, folder), "\n"));
  const std::string run = shell_quoted(folder);
  log::info(fmt::format("  files    {}: sweep.csv, sweep.json, sweep.svg", folder));
  const int signal = std::ranges::any_of(sweep.trials, &sweep::Trial::is_left) ? train::Signals::stop_signal() : 0;
  if (signal != 0) log::info("  continue dptrain resume " + run + flags.devices.text());
  if (sweep.trials.size() > 1) log::info("  compare  dptrain report " + run);
  const auto best = sweep::best_of(sweep);
  if (best) {
    const sweep::Trial& trial = sweep.trials[*best];
    log::info("  use      " + fit_line(sweep.plan, trial));
    log::info(fmt::format("  predict  dptrain predict {} --input FILE", shell_quoted(folder + "/" + trial.folder())));
  }
  if (signal != 0) return 128 + signal;
  if (best) return 0;
  log::error("no trial has a value; see the last column, and NNN.log in the folder of the sweep");
  const int code = sweep.trials.front().outcome.exit_code;
  return code > 0 ? code : static_cast<int>(ErrorKind::kDiverged);
}

/// Waits for trials of a killed sweep, which may still be saving.
void wait_for_orphans(const std::string& folder, const sweep::Sweep& sweep) {
  for (const sweep::Trial& trial : sweep.trials) {
    if (trial.status != sweep::Status::kRunning) continue;
    const std::string run = (fs::path(folder) / trial.folder()).string();
    if (sweep::wait_until_free(run, 0)) continue;
    log::info(fmt::format("trial {} of the interrupted sweep is still saving; waiting for it", trial.number));
    if (!sweep::wait_until_free(run, kOrphanSeconds))
      throw Error(ErrorKind::kUsage, fmt::format("{}: another process still trains there; stop it first", run));
  }
}

int run_trials(const SweepFlags& flags, sweep::Sweep& sweep, const std::string& folder,
               const experiment::Experiment& experiment, const Context& context) {
  const auto waits = std::ranges::count_if(sweep.trials, &sweep::Trial::is_left);
  const SweepDevices devices = devices_of(flags, waits, !experiment.config.data.loader.workers.value);
  std::error_code failed;
  sweep::ProcessRunner runner(sweep.plan, {.executable = fs::read_symlink("/proc/self/exe", failed).string(),
                                           .folder = fs::absolute(folder).string(),
                                           .devices = devices.flags,
                                           .sets = devices.sets});
  const std::size_t all = sweep.trials.size();
  const std::string to_go = static_cast<std::size_t>(waits) == all ? "" : fmt::format(", {} to go", waits);
  log::info(fmt::format("sweep    {}: {}{}; for the {} {}", sweep::name_of(sweep.plan.strategy), counted(all, "trial"),
                        to_go, sweep.plan.larger_wins ? "highest" : "lowest", sweep.plan.objective));
  log::info("devices  " + devices.text);
  log::info("run      " + folder);
  if (!sweep.plan.rungs.empty()) {
    std::vector<std::string> rungs;
    for (const std::int64_t epochs : sweep.plan.rungs) rungs.push_back(std::to_string(epochs));
    log::info(fmt::format("rungs    of {} epochs; one of {} trials continues", join(rungs, ", "), sweep.plan.eta));
  }
  Screen screen(folder, sweep, context.quiet || context.json ? train::ProgressMode::kOff : train::ProgressMode::kAuto);
  {
    const train::Training training("the trials save and end; press Ctrl-C again to quit without saving",
                                   "stopped at once; the trials that ran have their last checkpoints");
    sweep::run(sweep, runner, screen);
  }
  screen.end();
  write_results(folder, sweep, experiment.config.name);
  return report(flags, folder, sweep);
}

int list(const sweep::Sweep& sweep) {
  std::vector<std::string> lines;
  for (const sweep::Trial& trial : sweep.trials)
    lines.push_back(fmt::format("{}  {}", trial.folder(), sweep::values_text(sweep.plan, trial)));
  print_fitted(join(lines, "\n"));
  log::info(fmt::format("dry run: {}, {}, for the {} {}; the configs are valid, and nothing was trained or written",
                        sweep::name_of(sweep.plan.strategy), counted(sweep.trials.size(), "trial"),
                        sweep.plan.larger_wins ? "highest" : "lowest", sweep.plan.objective));
  return 0;
}

int resume(const SweepFlags& flags, const Context& context) {
  const bool asks_more = flags.config || flags.run_dir || flags.objective || flags.strategy || flags.name ||
                         !flags.vary.empty() || !flags.sets.empty() || !flags.variables.empty() || flags.trials ||
                         flags.seed || flags.eta || flags.min_epochs || flags.epochs;
  if (asks_more)
    throw Error(ErrorKind::kUsage,
                "--resume continues the sweep as it was started; it accepts only devices, --parallel and --dry-run");
  const std::string folder = fs::path(*flags.resume).lexically_normal().string();
  sweep::Sweep sweep = sweep::read_sweep(folder);
  if (flags.dry_run) return list(sweep);
  const train::RunLock lock(folder);
  sweep = sweep::read_sweep(folder);  // as the previous owner of the lock left it
  const std::string config = (fs::path(sweep.plan.directory) / sweep.plan.config).string();
  if (checksum_of(config) != sweep.plan.config_checksum)
    throw Error(ErrorKind::kUsage, fmt::format("--resume: {} has changed since the sweep began, so its trials could "
                                               "not be compared; restore it, or start another sweep",
                                               config));
  wait_for_orphans(folder, sweep);
  return run_trials(flags, sweep, folder, load_trial(sweep.plan, sweep.trials.front(), config), context);
}

}  // namespace

int run_sweep(const SweepFlags& flags, const Context& context) {
  const train::Signals signals;   // before other threads start
  std::signal(SIGCHLD, SIG_DFL);  // if the parent ignored it, waitpid() would not return a trial's status
  log::ignore_sigpipe();
  if (flags.resume) return resume(flags, context);
  NewSweep fresh = plan_sweep(flags);
  if (flags.dry_run) return list(fresh.sweep);
  const std::string folder = flags.run_dir ? *flags.run_dir : train::RunDirectory::next_sweep(fresh.experiment);
  const train::RunLock lock = make_folder(folder);
  return run_trials(flags, fresh.sweep, folder, fresh.experiment, context);
}

void add_sweep(App& app) {
  const auto flags = std::make_shared<SweepFlags>();
  Command& command = app.command("sweep", "train with many values of some keys, and compare");
  command.describe(
      "Trains CONFIG with other values of the keys that --vary names, some trials side by side, each as a run of its "
      "own, and ends with a table, best first. A trial that fails is a row of the table. A sweep can be stopped at any "
      "time with Ctrl-C (the trials save first) or killed, and continued with --resume DIR.");
  command
      .example(
          "net.yaml --vary train.optimizer.learning_rate=1e-4..1e-2:log --vary model.layers.hidden.units=32,64,128 "
          "--trials 20")
      .example("net.yaml --vary train.optimizer=adam,sgd --vary train.batch_size=64,128")
      .example("net.yaml --vary train.optimizer.learning_rate=1e-4..1e-1:log --trials 27 --strategy halving --epochs 9")
      .example("--resume runs/net/sweep-001");
  flags->add(command);
  command.run([flags](const Context& context) { return run_sweep(*flags, context); });
}

}  // namespace dptrain::cli
