#include "cli/run_header.h"

#include <algorithm>
#include <span>

#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "nn/optimizer.h"
#include "nn/schedules.h"
#include "session/environment.h"
#include "session/session.h"
#include "session/slots.h"

namespace dptrain::cli {
namespace {

constexpr double kMinReportedSeconds = 0.1;

/// " = " and the replicas' rows; " as 8 shards on 2 replicas"; "" for one replica.
std::string shares(std::int64_t rows, int replicas, const experiment::ConfigFile& config) {
  if (config.parallel.virtual_shards)
    return fmt::format(" as {} on {}", counted(*config.parallel.virtual_shards, "shard"), counted(replicas, "replica"));
  if (replicas == 1) return "";
  if (config.parallel.split.automatic) return fmt::format(" on {} replicas by their speed", replicas);
  const std::vector<double>& weights = config.parallel.split.weights;
  const std::vector<double> even(static_cast<std::size_t>(replicas), 1.0);
  const std::vector<std::int64_t> split = runtime::split_rows(rows, weights.empty() ? even : weights);
  return " = " + sum_text(split);
}

/// ", accumulated in 4 parts"; ", in 4 parts that fit the cache" if the config does not set the number.
std::string accumulation(const session::Session& session) {
  const std::int64_t parts = session.micro_batches();
  if (parts == 1) return "";
  const bool asked = session.experiment().config.train.accumulate_steps.has_value();
  return asked ? fmt::format(", accumulated in {} parts", parts)
               : fmt::format(", in {} parts that fit the cache", parts);
}

std::string learning_rate_text(const session::Session& session) {
  const experiment::TrainSection& train = session.experiment().config.train;
  const double factor = experiment::rate_factor(train, session.global_batch());
  const double rate = session.scheduled_rate({});
  const char* schedule = nn::common(train.optimizer).learning_rate.is_schedule() ? " at first" : "";
  if (train.lr_scaling == experiment::LrScaling::kNone) return fmt::format("learning rate {:.4g}{}", rate, schedule);
  return fmt::format("learning rate {:.4g}{} ({} scaling: {:.4g} x {:.4g})", rate, schedule,
                     train.lr_scaling == experiment::LrScaling::kLinear ? "linear" : "square root", rate / factor,
                     factor);
}

std::string model_line(session::Session& session) {
  const graph::Model& model = session.model();
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(session.replica_count()));
  session.replicas().on_each(
      [&](int rank, runtime::Replica& replica) { bytes[static_cast<std::size_t>(rank)] = replica.bytes(); });
  const std::int64_t all = model.parameters(), trainable = model.trainable_parameters();
  return fmt::format("{} parameters{}; {} of memory for each replica", with_commas(all),
                     all == trainable ? "" : fmt::format(", {} of them trainable", with_commas(trainable)),
                     human_bytes(*std::max_element(bytes.begin(), bytes.end())));
}

/// "Open MPI v4.1.4" from the library's version text.
std::string short_library(const distributed::Processes& processes) {
  std::string words;
  for (const char c : processes.library().substr(0, processes.library().find(',')))
    if (const bool blank = c == ' ' || c == '\t'; !blank || !words.ends_with(' ')) words += blank ? ' ' : c;
  return words;
}

/// The columns of a table, only the first ones if it is wide.
std::vector<std::string> listed_columns(const session::Session& session) {
  constexpr std::size_t kMax = 30;
  std::vector<std::string> lines = session.column_lines();
  if (const std::size_t count = lines.size(); count > kMax) {
    lines.resize(kMax);
    lines.push_back(fmt::format("and {} more; `dptrain data stats` lists all", count - kMax));
  }
  return lines;
}

std::string phases_line(const session::Session& session) {
  std::vector<std::string> parts;
  for (const auto& [phase, seconds] : session.phases())
    if (seconds > kMinReportedSeconds) parts.push_back(fmt::format("{} {:.2f} s", phase, seconds));
  return join(parts, ", ");
}

}  // namespace

std::string slow_decay_text(const nn::LearningRate& rate, const nn::Epoch& epoch, double run_epochs) {
  constexpr double kMinShare = 0.5;                      // a run that covers less of the decay warns
  if (!rate.is_schedule() || run_epochs < 1) return "";  // less than an epoch is a trial
  double begin = 0;                                      // steps before the decay
  const nn::LearningRate* decaying = &rate;
  if (const auto* warmup = rate.schedule.get_if<nn::WarmupSpec>()) {
    begin = epoch.period(warmup->warmup_steps).steps;
    decaying = &warmup->then;
  }
  std::optional<config::Duration> decay;
  if (const auto* cosine = decaying->schedule.get_if<nn::CosineDecaySpec>()) {
    decay = cosine->decay_steps;
    if (cosine->warmup_target && cosine->warmup_steps.value > 0) begin += epoch.period(cosine->warmup_steps).steps;
  } else if (const auto* polynomial = decaying->schedule.get_if<nn::PolynomialDecaySpec>();
             polynomial != nullptr && !polynomial->cycle) {
    decay = polynomial->decay_steps;
  }
  if (!decay) return "";
  const double steps = epoch.period(*decay).steps, per_epoch = static_cast<double>(epoch.steps);
  if (run_epochs * per_epoch >= begin + kMinShare * steps) return "";
  const auto epochs = [](double count) { return fmt::format("{:.4g} {}", count, plural(count == 1 ? 1 : 2, "epoch")); };
  return fmt::format(
      "the learning-rate schedule {} ends after {}, the run after {}: the rate hardly falls; set decay_steps to {}",
      decaying->schedule.name(), epochs((begin + steps) / per_epoch), epochs(run_epochs),
      epochs(std::max(1 / per_epoch, run_epochs - begin / per_epoch)));
}

std::string sum_text(const std::vector<std::int64_t>& parts) {
  constexpr std::size_t kFew = 4;
  std::vector<std::string> groups;
  bool is_even = true;
  for (std::size_t i = 0, end = 0; i < parts.size(); i = end) {
    while (end < parts.size() && parts[end] == parts[i]) ++end;
    groups.push_back(fmt::format("{} x {}", end - i, parts[i]));
    is_even = end - i == parts.size();
  }
  if (is_even || parts.size() > kFew) return join(groups, " + ");
  std::vector<std::string> numbers;
  for (const std::int64_t part : parts) numbers.push_back(std::to_string(part));
  return join(numbers, " + ");
}

std::string devices_text(const std::vector<std::string>& lines) {
  constexpr std::size_t kMaxNamed = 8;
  if (lines.size() == 1) return lines.front();
  const std::string count = fmt::format("{} replicas: ", lines.size());
  if (lines.size() <= kMaxNamed) return count + join(lines, "; ");
  const auto id = [](const std::string& line) { return line.substr(0, line.find(' ')); };
  const auto facts = [](const std::string& line) { return line.substr(std::min(line.size(), line.find(' '))); };
  if (std::ranges::all_of(lines, [&](const std::string& line) { return facts(line) == facts(lines.front()); }))
    return fmt::format("{}{} to {}, each{}", count, id(lines.front()), id(lines.back()), facts(lines.front()));
  return fmt::format("{}{}; and {} more", count, join(std::span(lines).first(kMaxNamed), "; "),
                     lines.size() - kMaxNamed);
}

std::string devices_line(const session::Session& session) {
  const experiment::DtypePolicy policy = session.experiment().config.train.dtype_policy;
  const std::string precision =
      policy == experiment::DtypePolicy::kFloat32 ? "" : fmt::format("; {}", experiment::name_of(policy));
  return devices_text(session.device_lines()) + precision;
}

void warn_of_large_batch(session::Session& session) {
  const std::int64_t batch = session.global_batch(), samples = session.train_loader().samples();
  if (batch > samples)
    log::warn(fmt::format("a batch size of {} exceeds the training set ({}): every step uses all samples",
                          with_commas(batch), counted(samples, "sample")));
}

std::string batch_line(session::Session& session) {
  const experiment::ConfigFile& config = session.experiment().config;
  const std::int64_t batch = session.global_batch(), samples = session.train_loader().samples();
  warn_of_large_batch(session);
  const std::string last =
      samples % batch == 0 || batch > samples ? "" : fmt::format(", the last with {}", with_commas(samples % batch));
  return fmt::format("{}{}{}; {} an epoch{}; {}", counted(batch, "sample"),
                     shares(batch, session.world().ranks, config), accumulation(session),
                     counted(session.steps_per_epoch(), "step"), last, learning_rate_text(session));
}

std::vector<std::string> run_header(session::Session& session, const std::string& run) {
  const session::BuildInfo build = session::build_info();
  std::string versions = "dptrain " + build.version;
  for (const auto& [library, version] : session::library_versions(session.devices()))
    if (!version.starts_with("no") && (library != "cuda" || session.devices().on_real_gpus()))
      versions += fmt::format("  {} {}", library, version);
  std::vector<std::string> lines{fmt::format("{}  run {}", versions, run), "devices  " + devices_line(session),
                                 "batch    " + batch_line(session), "model    " + model_line(session)};
  if (const distributed::Processes* processes = session.processes()) {
    const int hosts = processes->hosts();
    lines.insert(lines.begin() + 1,
                 fmt::format("together {} replicas in {} processes on {}; {}; the devices below are of {}",
                             session.world().ranks, processes->count(),
                             hosts == 1 ? "one machine" : fmt::format("{} machines", hosts), short_library(*processes),
                             processes->name(0)));
  }
  if (const auto& weights = session.weights_report()) {
    lines.push_back("weights  " + weights->line());
    for (const std::string& note : weights->notes) lines.push_back("         " + note);
    log::debug(weights->table());
  }
  for (const std::string& column : listed_columns(session)) lines.push_back("column   " + column);
  if (const std::string classes = session.class_weights_line(); !classes.empty())
    lines.push_back("classes  " + classes);
  if (const std::string slots = session::slots_line(session.devices()); !slots.empty())
    lines.push_back("slots    " + slots);
  if (!session.prefix_line().empty()) lines.push_back("prefix   " + session.prefix_line());
  if (!session.device_datasets().empty())
    lines.push_back("input    on the GPU: " + join(session.device_datasets(), ", "));
  if (const std::string phases = phases_line(session); !phases.empty()) lines.push_back("start    " + phases);
  return lines;
}

}  // namespace dptrain::cli
