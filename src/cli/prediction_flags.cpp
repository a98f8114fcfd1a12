#include "cli/prediction_flags.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "cli/device_flags.h"
#include "config/expression.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::cli {
namespace {

using NamedUnit = std::pair<const char*, double>;
constexpr NamedUnit kTimes[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
/// Units of rates, per second, with or without the suffix "/s".
constexpr NamedUnit kRates[] = {{"kbit", 1e3 / 8}, {"Mbit", 1e6 / 8}, {"Gbit", 1e9 / 8}, {"Tbit", 1e12 / 8},
                                {"KB", 1e3},       {"MB", 1e6},       {"GB", 1e9},       {"TB", 1e12},
                                {"KiB", 0x1p10},   {"MiB", 0x1p20},   {"GiB", 0x1p30},   {"TiB", 0x1p40}};

[[noreturn]] void refuse_prediction(const std::string& what) { throw Error(ErrorKind::kUsage, "--predict: " + what); }

/// Parses a number > 0 with one of the units.
double quantity(const std::string& key, const std::string& value, std::span<const NamedUnit> units,
                const std::string& suffix, const char* examples) {
  const std::size_t end = value.find_first_not_of("0123456789.");
  const std::string number = value.substr(0, end);
  std::string unit = end == std::string::npos ? "" : trim(value.substr(end));
  if (!suffix.empty() && unit.ends_with(suffix)) unit.resize(unit.size() - suffix.size());
  for (const auto& [word, factor] : units)
    if (unit == word && config::is_number_literal(number)) {
      const double amount = std::stod(number) * factor;
      if (std::isfinite(amount) && amount > 0) return amount;
    }
  refuse_prediction(fmt::format("{} must be {}, found '{}'", key, examples, value));
}

double time_of(const std::string& key, const std::string& value) {
  return quantity(key, value, kTimes, "", "a time such as 3us, 0.2ms or 1.5s");
}
double rate_of(const std::string& key, const std::string& value) {
  return quantity(key, value, kRates, "/s", "a rate such as 200Gbit, 25GB/s or 900MB/s");
}

int count_of(const std::string& key, const std::string& value) {
  constexpr int kMax = 1 << 20;
  const bool digits = !value.empty() && value.size() < 8 && value.find_first_not_of("0123456789") == std::string::npos;
  const int count = digits ? std::stoi(value) : 0;
  if (count < 1 || count > kMax)
    refuse_prediction(fmt::format("{} must be a whole number from 1 to {}, found '{}'", key, kMax, value));
  return count;
}

bench::SumAlgorithm algorithm_of(const std::string& value) {
  using enum bench::SumAlgorithm;
  std::vector<std::string> names;
  for (const bench::SumAlgorithm algorithm : {kRing, kTree, kTwoLevel, kDirect}) {
    if (bench::name_of(algorithm) == value) return algorithm;
    names.push_back(bench::name_of(algorithm));
  }
  refuse_prediction(
      fmt::format("algorithm must be {}, found '{}'{}", join(names, ", "), value, did_you_mean(value, names)));
}

using ParseKey = std::function<void(bench::PredictionRequest& flags, const std::string& key, const std::string& value)>;

const std::map<std::string, ParseKey>& keys() {
  static const std::map<std::string, ParseKey> all{
      {"gpus", [](auto& flags, const auto& key, const auto& value) { flags.gpus = count_of(key, value); }},
      {"cpus", [](auto& flags, const auto&, const auto& value) { flags.cpus = parse_cpus(value); }},
      {"nodes", [](auto& flags, const auto& key, const auto& value) { flags.nodes = count_of(key, value); }},
      {"processes", [](auto& flags, const auto& key, const auto& value) { flags.processes = count_of(key, value); }},
      {"cores", [](auto& flags, const auto& key, const auto& value) { flags.cores = count_of(key, value); }},
      {"link", [](auto& flags, const auto& key, const auto& value) { flags.link = rate_of(key, value); }},
      {"latency", [](auto& flags, const auto& key, const auto& value) { flags.latency = time_of(key, value); }},
      {"inner", [](auto& flags, const auto& key, const auto& value) { flags.inner = rate_of(key, value); }},
      {"inner_latency",
       [](auto& flags, const auto& key, const auto& value) { flags.inner_latency = time_of(key, value); }},
      {"step", [](auto& flags, const auto& key, const auto& value) { flags.step = time_of(key, value); }},
      {"batch", [](auto& flags, const auto& key, const auto& value) { flags.batch = count_of(key, value); }},
      {"algorithm", [](auto& flags, const auto&, const auto& value) { flags.algorithm = algorithm_of(value); }},
  };
  return all;
}

void check_prediction(const bench::PredictionRequest& flags) {
  if (flags.gpus && (flags.cpus || flags.processes || flags.cores))
    refuse_prediction("gpus cannot be combined with cpus, processes or cores; gpus and nodes are the counts");
  if (!flags.gpus && !flags.processes && !flags.nodes)
    refuse_prediction("a count is missing: gpus=8,nodes=64, or processes=4 for CPUs");
  const int nodes = flags.nodes.value_or(1);
  if (nodes == 1 && (flags.link || flags.latency))
    refuse_prediction("link and latency apply between nodes, but there is one node; use inner and inner_latency");
  if (nodes > 1 && !flags.link) refuse_prediction("link is missing: the bandwidth between nodes, as in link=200Gbit");
  if (nodes > 1 && !flags.latency)
    refuse_prediction("latency is missing: the latency between nodes, as in latency=3us");
  if (flags.processes && *flags.processes < nodes)
    refuse_prediction(fmt::format("processes={} are fewer than nodes={}", *flags.processes, nodes));
  if (!flags.gpus && flags.algorithm && *flags.algorithm != bench::SumAlgorithm::kDirect)
    refuse_prediction("processes on CPUs sum with algorithm=direct");
  if (flags.gpus && flags.algorithm == bench::SumAlgorithm::kDirect)
    refuse_prediction("GPUs sum with algorithm=ring, tree or two_level");
}

}  // namespace

bench::PredictionRequest parse_prediction(const std::string& text) {
  bench::PredictionRequest flags;
  std::vector<std::string> names, given;
  for (const auto& [name, take] : keys()) names.push_back(name);
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string key = trim(part.substr(0, equals));
    const auto found = keys().find(key);
    if (found == keys().end())
      refuse_prediction(
          fmt::format("unknown key '{}'{}; expected one of {}", key, did_you_mean(key, names), join(names, ", ")));
    if (equals == std::string::npos) refuse_prediction(fmt::format("{} has no value, as in {}=...", key, key));
    if (std::ranges::find(given, key) != given.end()) refuse_prediction(fmt::format("{} is given twice", key));
    given.push_back(key);
    found->second(flags, key, trim(part.substr(equals + 1)));
  }
  check_prediction(flags);
  return flags;
}

}  // namespace dptrain::cli
