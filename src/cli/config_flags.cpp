#include "cli/config_flags.h"

#include <cmath>

#include "cli/device_flags.h"
#include "config/node.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "evaluation/gates.h"

namespace dptrain::cli {
namespace {

/// "key=value", quoted so that YAML reads the value as a string.
std::string text_set(const std::string& key, const std::string& value) {
  return key + "=" + trim(config::to_yaml(config::Node::text(value)));
}

/// Sets one of two mutually exclusive keys and removes the other.
void set_one(std::vector<std::string>& sets, const std::string& key, const std::string& other, std::int64_t value) {
  sets.push_back(fmt::format("{}={}", key, value));
  sets.push_back(other + "=null");
}

std::optional<double> positive_number(const std::string& text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
}

}  // namespace

void ConfigFlags::add(Command& command) {
  command.section("Config")
      .option("--set", "KEY=VALUE", sets, "change any key of the config, as in train.optimizer.Adam.learning_rate=3e-4")
      .option("--var", "NAME=VALUE", variables, "value of $NAME in the config (default: environment)");
}

void ConfigFlags::add_batch(Command& command) {
  command.section("Shorthands of config keys")
      .integer("--batch-size", "N", batch_size, "samples of one update, over all replicas")
      .integer("--batch-size-per-replica", "N", batch_size_per_replica, "samples of one update in each replica")
      .exclusive({"--batch-size", "--batch-size-per-replica"})
      .integer("--accumulate", "N", accumulate,
               "cut each replica's share into N micro-batches: less memory, the same result")
      .option("--split", "W:W", split, "shares of the replicas, as in 2:1")
      .choice("--conv", {"auto", "direct"}, conv, "convolutions by rule, or without Winograd")
      .integer("--seed", "N", seed, "seed of weights, order and augmentation", 0)
      .flag("--deterministic", deterministic, "the same bits every time (the default of the config)");
}

void ConfigFlags::add_training(Command& command) {
  command.section("Shorthands of config keys")
      .option("--learning-rate", "X", learning_rate, "learning rate of the optimizer; for a schedule its highest rate")
      .integer("--epochs", "N", epochs, "stop after N epochs in all, resumed ones included")
      .integer("--steps", "N", steps, "stop after N updates in all; with --epochs, whichever comes first")
      .option("--max-time", "TIME", max_time, "stop after a time such as 30m")
      .option("--log-every", "EVERY", log_every, "interval between log lines, as in '50 steps' or 10s")
      .optional_value("--tensorboard", "DIR", "logs", tensorboard,
                      "write TensorBoard event files into this folder below the run's");
}

void ConfigFlags::add_name(Command& command) {
  command.section("Shorthands of config keys")
      .option("--name", "NAME", name, "name of the experiment; the run is written to runs/NAME/NNN");
}

experiment::Overrides ConfigFlags::overrides() const {
  experiment::Overrides overrides;
  std::vector<std::string>& all = overrides.sets;
  if (tensorboard) all.push_back(text_set("callbacks.+.TensorBoard.log_dir", *tensorboard));
  all.insert(all.end(), sets.begin(), sets.end());  // after the callback, whose arguments they may change
  if (name) all.push_back(text_set("name", *name));
  if (seed) all.push_back(fmt::format("seed={}", *seed));
  if (batch_size) set_one(all, "train.batch_size", "train.batch_size_per_replica", *batch_size);
  if (batch_size_per_replica) set_one(all, "train.batch_size_per_replica", "train.batch_size", *batch_size_per_replica);
  if (accumulate) all.push_back(fmt::format("train.accumulate_steps={}", *accumulate));
  if (epochs)
    set_one(all, "train.epochs", "train.steps", *epochs);
  else if (steps)
    set_one(all, "train.steps", "train.epochs", *steps);
  if (max_time) all.push_back("train.max_time=" + *max_time);
  if (log_every) all.push_back("train.log_every=" + *log_every);
  if (split) all.push_back("parallel.split=" + parse_split(*split));
  overrides.learning_rate = learning_rate;
  if (conv) all.push_back("runtime.conv=" + *conv);
  if (deterministic) all.emplace_back("runtime.deterministic=true");
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Error(ErrorKind::kUsage, fmt::format("--var must be NAME=VALUE, found '{}'", variable));
    overrides.variables[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  return overrides;
}

train::RateRange parse_rate_range(const std::string& text, const std::optional<std::int64_t>& steps) {
  const std::size_t dots = text.find("..");
  const double low = positive_number(text.substr(0, dots)).value_or(0);
  const double high = dots == std::string::npos ? 0 : positive_number(text.substr(dots + 2)).value_or(0);
  if (low <= 0 || low >= high)
    throw Error(ErrorKind::kUsage,
                fmt::format("--find-lr must be two learning rates, the smaller first, as in --find-lr=1e-7..10; found "
                            "'{}'",
                            text));
  constexpr std::int64_t kMin = 20;
  if (steps && *steps < kMin)
    throw Error(ErrorKind::kUsage, fmt::format("--find-lr needs {} --steps or more, found {}", kMin, *steps));
  train::RateRange range{.low = low, .high = high};
  if (steps) range.steps = *steps;
  return range;
}

void add_gate_flags(Command& command, evaluation::GateOptions& options) {
  command
      .option("--gates", "FILE", options.file, "file of limits, exit 7 if one is missed; replaces the config's gates")
      .option("--junit", "FILE", options.junit, "write the results of gates and --assert as JUnit XML")
      .flag("--annotations", options.annotations,
            "print failures as ::error lines for GitHub; the default in its Actions");
}

}  // namespace dptrain::cli
