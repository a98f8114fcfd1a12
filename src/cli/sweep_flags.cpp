#include "cli/sweep_flags.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include "backend/device.h"
#include "cli/config_flags.h"
#include "config/diagnostics.h"
#include "core/crc32.h"
#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/quantity.h"
#include "core/text.h"
#include "experiment/objectives.h"
#include "train/callbacks/early_stopping.h"
#include "train/callbacks/model_checkpoint.h"
#include "train/line_file.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kMaxTrials = 100'000;

[[noreturn]] void refuse_sweep(const std::string& what) { throw Error(ErrorKind::kUsage, what); }

std::vector<std::string> base_sets(const SweepFlags& flags) {
  ConfigFlags config;
  config.sets = flags.sets;
  config.name = flags.name;
  config.epochs = flags.epochs;
  return config.overrides().sets;
}

/// Chooses the strategy and the number of trials from the flags and the search space.
void choose_strategy(const SweepFlags& flags, sweep::Plan& plan) {
  const auto points = sweep::grid_size(plan.space());
  if (flags.strategy)
    plan.strategy = sweep::strategy_of(*flags.strategy);
  else
    plan.strategy =
        points && (!flags.trials || *points <= *flags.trials) ? sweep::Strategy::kGrid : sweep::Strategy::kRandom;
  if (plan.strategy == sweep::Strategy::kGrid) {
    if (!points) {
      const std::vector<sweep::SweepParameter> space = plan.space();
      const auto range = std::ranges::find_if(
          space, [](const sweep::SweepParameter& v) { return v.kind != sweep::SweepParameter::Kind::kChoices; });
      refuse_sweep(
          fmt::format("--strategy grid: {} has a range; name its values, as in {}=1,2,4, or use --strategy random",
                      range->key, range->key));
    }
    if (flags.trials && *flags.trials < *points)
      refuse_sweep(fmt::format(
          "--strategy grid: the grid has {} points, --trials allows {}; raise it, remove it, or use --strategy random",
          *points, *flags.trials));
    plan.trials = *points;
  } else {
    if (!flags.trials) refuse_sweep("--trials N is needed where a key has a range: how many values are drawn");
    plan.trials = *flags.trials;
  }
  if (plan.trials > kMaxTrials) refuse_sweep(fmt::format("{} trials are more than {}", plan.trials, kMaxTrials));
}

struct Objective {
  std::string name;
  bool larger = false;
};

Objective objective_of(const std::vector<experiment::LoggedValue>& values, const std::string& name,
                       train::MonitorMode mode) {
  if (mode != train::MonitorMode::kAuto) return {name, mode == train::MonitorMode::kMax};
  const nn::Direction better = experiment::direction_of(values, name);
  if (better == nn::Direction::kUnknown)
    refuse_sweep(
        fmt::format("no metric defines whether a larger '{0}' is better; give --objective {0}:max or {0}:min", name));
  return {name, better == nn::Direction::kLarger};
}

/// The value that the config's callbacks monitor, else the first metric, else the loss.
Objective default_objective(const experiment::Experiment& experiment,
                            const std::vector<experiment::LoggedValue>& values) {
  for (const experiment::CallbackConfig& callback : experiment.config.callbacks) {
    if (const auto* keeps = callback.get_if<train::ModelCheckpointSpec>(); keeps != nullptr && keeps->monitor)
      return objective_of(values, *keeps->monitor, keeps->mode);
    if (const auto* stops = callback.get_if<train::EarlyStoppingSpec>(); stops != nullptr)
      return objective_of(values, stops->monitor, stops->mode);
  }
  const std::string prefix = experiment.config.data.validation ? "val_" : "";
  const auto is_metric = [](const std::string& name) { return name != "loss" && !name.ends_with("_loss"); };
  const auto metric = std::ranges::find_if(values, is_metric, &experiment::LoggedValue::name);
  return objective_of(values, prefix + (metric == values.end() ? "loss" : metric->name), train::MonitorMode::kAuto);
}

Objective objective_of(const SweepFlags& flags, const experiment::Experiment& experiment) {
  const std::vector<experiment::LoggedValue> values = experiment::logged_values(
      experiment.config.train, experiment.graph, static_cast<bool>(experiment.config.data.validation));
  if (!flags.objective) return default_objective(experiment, values);
  const std::vector<std::string> parts = split(*flags.objective, ':');
  const std::string mode = parts.size() > 1 ? parts[1] : "";
  if (parts.size() > 2 || (parts.size() == 2 && mode != "max" && mode != "min"))
    refuse_sweep(
        fmt::format("--objective must be a value, or a value followed by :max or :min, such as "
                    "val_accuracy:max; found '{}'",
                    *flags.objective));
  std::vector<std::string> names;
  for (const experiment::LoggedValue& value : values) names.push_back(value.name);
  if (std::ranges::find(names, parts[0]) == names.end())
    refuse_sweep(fmt::format("--objective {}: training logs no such value; there are {}{}", parts[0], join(names, ", "),
                             did_you_mean(parts[0], names)));
  using Mode = train::MonitorMode;
  return objective_of(values, parts[0], mode.empty() ? Mode::kAuto : mode == "max" ? Mode::kMax : Mode::kMin);
}

void choose_rungs(const SweepFlags& flags, const experiment::Experiment& experiment, sweep::Plan& plan) {
  if (plan.strategy != sweep::Strategy::kHalving) {
    if (flags.eta || flags.min_epochs) refuse_sweep("--eta and --min-epochs need --strategy halving");
    return;
  }
  plan.eta = flags.eta.value_or(3);
  const auto epochs = experiment.config.train.epochs;
  if (!epochs) refuse_sweep("--strategy halving counts in epochs, and train has steps; give --epochs N");
  const std::int64_t least = flags.min_epochs.value_or(1);
  if (least > *epochs)
    refuse_sweep(fmt::format("--min-epochs {} is more than the {} epochs of a trial", least, *epochs));
  plan.rungs = sweep::rungs_of(least, *epochs, plan.eta);
  using Unit = config::Duration::Unit;
  const config::Duration& every = experiment.config.train.validate_every;
  const bool by_epochs = every.unit == Unit::kBare || every.unit == Unit::kEpochs;
  if (plan.objective.starts_with("val_") && by_epochs && every.value > static_cast<double>(plan.rungs.front()))
    refuse_sweep(
        fmt::format("--strategy halving: the first rung has {} epochs and the config validates every {}; give "
                    "--min-epochs {}",
                    plan.rungs.front(), every.value, every.value));
}

void check_keys(const sweep::Plan& plan) {
  std::set<std::string> keys;
  for (const sweep::SweepParameter& parameter : plan.space()) {
    if (!keys.insert(parameter.key).second)
      refuse_sweep(fmt::format("--vary {}: the key is varied twice", parameter.key));
    if (plan.strategy == sweep::Strategy::kHalving &&
        (parameter.key == "train.epochs" || parameter.key == "train.steps"))
      refuse_sweep(fmt::format("--vary {}: --strategy halving decides how long a trial trains", parameter.key));
  }
}

std::string trials_side_by_side(std::size_t slots) {
  return slots == 1 ? "one trial after the other" : fmt::format("{} trials side by side", slots);
}

/// `--gpus 0,1`: assigns trials round-robin to GPUs, or to groups of as many as a replica has slots.
SweepDevices trials_on_gpus(const session::DeviceRequest& request, std::int64_t slots,
                            const std::optional<std::string>& slots_of_model) {
  std::vector<std::string> places;
  const std::size_t each = at(request.slots);
  for (std::size_t i = 0; i + each <= request.gpus.size(); i += each) {
    std::vector<std::string> names;
    for (std::size_t k = i; k < i + each; ++k) {
      const session::GpuId& gpu = request.gpus[k];
      names.push_back((gpu.kind == backend::DeviceKind::kEmu ? "emu:" : "") + std::to_string(gpu.id));
    }
    places.push_back(join(names, "+"));
  }
  SweepDevices devices{.flags = {}, .text = ""};
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    devices.flags.push_back({"--gpus", places[static_cast<std::size_t>(slot) % places.size()]});
    if (slots_of_model) devices.flags.back().insert(devices.flags.back().end(), {"--slots", *slots_of_model});
  }
  std::vector<std::string> used(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(
                                                                     places.size(), devices.flags.size())));
  devices.text = fmt::format("{} on gpu {}", trials_side_by_side(devices.flags.size()), join(used, ", "));
  return devices;
}

SweepDevices trials_on_cpus(std::int64_t slots, std::int64_t threads, bool auto_workers) {
  SweepDevices devices{.flags = {}, .text = ""};
  devices.flags.assign(static_cast<std::size_t>(slots), {"--cpus", fmt::format("1x{}", threads)});
  if (auto_workers && slots > 1) devices.sets.push_back(fmt::format("data.loader.workers={}", threads));
  devices.text = fmt::format("{}, {} each", trials_side_by_side(devices.flags.size()), counted(threads, "CPU thread"));
  return devices;
}

}  // namespace

void SweepFlags::add(Command& command) {
  command.positional("CONFIG", config, "the experiment, a YAML file; not with --resume");
  command.section("Trials")
      .option("--vary", "KEY=SPEC", vary,
              "a key of --set and its values: 1e-4..1e-2:log, 0.1..0.5, 16..128:int (:int:log), or choices: adam,sgd")
      .integer("--trials", "N", trials, "number of trials; for a grid the number of its points")
      .choice("--strategy", {"grid", "random", "halving"}, strategy,
              "every point of the choices; random points; random points of which the best train on (default: grid "
              "where all keys have choices and --trials allows it, else random)")
      .integer("--seed", "N", seed, "seed of random points (0); weights and data use the config's", 0)
      .option("--objective", "NAME[:max|min]", objective,
              "the value that counts, the best of a trial's epochs (default: what the config's callbacks monitor, else "
              "the first metric, of validation where there is some)")
      .integer("--eta", "N", eta, "halving: one of N trials continues, for N times the epochs (3)", 2)
      .integer("--min-epochs", "N", min_epochs, "halving: minimum epochs of the first rung (1)");
  command.section("Run")
      .option("--run-dir", "DIR", run_dir, "folder of the sweep (default runs/<name>/sweep-NNN)")
      .option("--resume", "DIR", resume, "continue the sweep in this folder")
      .flag("--dry-run", dry_run, "list the trials and check their configs; writes nothing")
      .integer("--epochs", "N", epochs, "epochs of each trial; with halving of those that reach the end")
      .option("--name", "NAME", name, "name of the experiment; the sweep is written to runs/NAME/sweep-NNN");
  devices.add(command);
  command.integer("--parallel", "N", parallel, "trials side by side (default: one on each GPU, else on each core)")
      .exclusive({"--parallel", "--cpus"});
  command.section("Config")
      .option("--set", "KEY=VALUE", sets, "change any key of the config, for all trials")
      .option("--var", "NAME=VALUE", variables, "value of $NAME in the config (default: environment)");
}

experiment::Experiment load_trial(const sweep::Plan& plan, const sweep::Trial& trial, const std::string& file) {
  ConfigFlags config;
  config.sets = sweep::sets_of(plan, trial);
  config.variables = plan.variables;
  return experiment::load_experiment(file, config.overrides());
}

std::uint32_t checksum_of(const std::string& file) {
  const std::string text = train::read_text(file);
  return crc32(std::as_bytes(std::span(text.data(), text.size())));
}

NewSweep plan_sweep(const SweepFlags& flags) {
  if (!flags.config) refuse_sweep("sweep: a config is needed, or --resume with the folder of a sweep");
  if (*flags.config == "-") refuse_sweep("sweep reads its config once for each trial: give a file in place of -");
  if (flags.vary.empty())
    refuse_sweep(
        "sweep: nothing is varied; give --vary KEY=SPEC, as in "
        "--vary train.optimizer.learning_rate=1e-4..1e-2:log");
  NewSweep all;
  sweep::Plan& plan = all.sweep.plan;
  plan.config = *flags.config;
  plan.directory = fs::current_path().string();
  plan.vary = flags.vary;
  plan.sets = base_sets(flags);
  plan.variables = flags.variables;
  plan.seed = static_cast<std::uint64_t>(flags.seed.value_or(0));
  choose_strategy(flags, plan);
  check_keys(plan);
  all.sweep.trials = sweep::trials_of(plan);
  for (const sweep::Trial& trial : all.sweep.trials) try {
      experiment::Experiment experiment = load_trial(plan, trial, plan.config);
      if (!experiment.config.train.loss)
        refuse_sweep(
            fmt::format("{}: sweep needs a section 'train' with loss, batch_size and epochs", experiment.file));
      if (trial.number > 1) continue;
      for (const std::string& warning : experiment.warnings) log::warn(warning);
      const Objective objective = objective_of(flags, experiment);
      plan.objective = objective.name;
      plan.larger_wins = objective.larger;
      choose_rungs(flags, experiment, plan);
      all.experiment = std::move(experiment);
    } catch (const config::ConfigError&) {
      if (trial.number > 1)
        log::error(fmt::format("trial {} has an invalid config: {}", trial.number,
                               join(sweep::assignments(plan, trial), " ")));
      throw;
    }
  plan.config_checksum = checksum_of(plan.config);
  return all;
}

SweepDevices devices_of(const SweepFlags& flags, std::int64_t trials, bool auto_workers) {
  const std::int64_t most = std::max<std::int64_t>(1, trials);
  const std::int64_t cores = machine::cpus();
  if (flags.devices.cpus) {
    const session::DeviceRequest request = parse_cpus(*flags.devices.cpus);
    if (request.grouped)
      refuse_sweep("--cpus: expected N trials of T threads each, as in 2x1; a sweep does not support slots");
    const std::int64_t slots = std::min<std::int64_t>(request.replicas, most);
    return trials_on_cpus(slots,
                          request.threads > 0 ? request.threads : std::max<std::int64_t>(1, cores / request.replicas),
                          auto_workers);
  }
  if (flags.devices.gpus || flags.devices.num_gpus || !backend::list_cuda().empty()) {
    const session::DeviceRequest request =
        flags.devices.given() ? flags.devices.request() : parse_gpus("all", "--gpus");
    if (request.on_gpus()) {
      const auto groups = static_cast<std::int64_t>(request.gpus.size()) / request.slots;
      return trials_on_gpus(request, std::min(most, flags.parallel.value_or(groups)), flags.devices.slots);
    }
  }
  const std::int64_t slots = std::min(most, flags.parallel.value_or(cores));
  return trials_on_cpus(slots, std::max<std::int64_t>(1, cores / slots), auto_workers);
}

}  // namespace dptrain::cli
