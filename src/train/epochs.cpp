#include "train/epochs.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/format.h"
#include "core/log.h"
#include "core/log_fields.h"
#include "core/quantity.h"
#include "core/text.h"
#include "core/trace.h"
#include "data/loader.h"
#include "experiment/run_files.h"
#include "session/environment.h"
#include "session/evaluation.h"
#include "session/session.h"
#include "train/callbacks/monitor.h"

namespace dptrain::train {
namespace {

/// Updates the best values of metrics and losses.
void remember_best(const experiment::Logs& logs, std::int64_t epoch, Run& run) {
  for (const auto& [name, value] : logs.items()) {
    const nn::Direction better = experiment::direction_of(run.logged, name);
    if (better == nn::Direction::kUnknown) continue;
    const auto found = run.best.find(name);
    const std::optional<double> old = found == run.best.end() ? std::nullopt : std::optional(found->second.first);
    if (improved(value, old, better == nn::Direction::kLarger, 0)) run.best[name] = {value, epoch + 1};
  }
}

void add(const experiment::Logs& from, experiment::Logs& to) {
  for (const auto& [name, value] : from.items()) to.set(name, value);
}

/// Fields of the epoch's line with --log json.
nlohmann::ordered_json epoch_fields(const EpochReport& report) {
  nlohmann::ordered_json fields{{"ev", "epoch"}, {"epoch", report.epoch + 1}, {"step", report.step}};
  for (const auto& [name, value] : report.logs.items()) fields[name] = value;
  fields.update({{"lr", report.learning_rate},
                 {"examples_per_second", report.examples_per_second()},
                 {"seconds", report.seconds}});
  if (!report.whole) fields["whole"] = false;  // the run ends inside it
  return fields;
}

}  // namespace

void Epochs::begin(const std::string& of) {
  if (run_.position.samples > 0) return;
  log::info(fmt::format("Epoch {}{}", run_.position.epoch + 1, of));
  run_.progress.draw({.done = 0, .total = run_.session.steps_per_epoch()});  // replaces the bar of the previous epoch
  for (const auto& callback : run_.callbacks) callback->epoch_begin(control_, run_.position.epoch);
}

bool Epochs::validates_at_end() const {
  if (run_.validation_steps() > 0 || run_.session.validation_loader() == nullptr) return false;
  return (run_.position.epoch + 1) %
             static_cast<std::int64_t>(run_.session.experiment().config.train.validate_every.value) ==
         0;
}

bool Epochs::validates_after(std::int64_t step) const {
  const std::int64_t every = run_.validation_steps();
  return every > 0 && step > 0 && step % every == 0 && run_.session.validation_loader() != nullptr;
}

/// Returns nothing if validation was stopped.
std::optional<experiment::Logs> Epochs::validate() {
  const trace::Span span("trainer", "validation");
  data::Loader& loader = *run_.session.validation_loader();
  const Stopwatch watch;
  BarState bar{.total = loader.batches_per_epoch(), .unit = BarState::Unit::kSteps, .values = " - validation"};
  const auto sums = session::evaluate(run_.session, loader, [&] {
    ++bar.done;
    bar.seconds = watch.seconds();
    run_.progress.draw(bar);
    return should_continue_();
  });
  if (!sums) return std::nullopt;
  experiment::Logs logs;
  for (const auto& [name, value] : session::values_of(run_.session.plan(), *sums)) logs.set("val_" + name, value);
  return logs;
}

void Epochs::validate_if_due() {
  Position& position = run_.position;
  if (!validates_after(position.step) || position.validated_step == position.step || run_.is_stopping()) return;
  if (!checkpoints_.is_usable()) return;
  const Stopwatch watch;
  const std::optional<experiment::Logs> values = validate();
  if (!values) return;
  position.validated_step = position.step;
  position.validated = *values;
  position.validation_seconds += watch.seconds();
  remember_best(*values, position.epoch, run_);

  const std::int64_t batch = log_.batch();
  nlohmann::ordered_json line{{"ev", "validation"}, {"epoch", position.epoch + 1}, {"step", position.step}};
  for (const auto& [name, value] : values->items()) line[name] = value;
  log::info(
      fmt::format("step {}/{} - validation{}", batch, run_.session.steps_per_epoch(), values_text(values->items())),
      line);
  run_.session.warn_about_bad_samples(run_.directory.file(experiment::kDataErrors));
  nlohmann::json fields{{"epoch", position.epoch + 1}, {"step", position.step}};
  for (const auto& [name, value] : values->items()) fields[name] = value;
  run_.sinks->event("validation", fields);

  ValidationReport report{position.step, position.epoch, batch, run_.logs()};
  add(*values, report.logs);
  checkpoints_.defer();
  for (const auto& callback : run_.callbacks) callback->validation_end(control_, report);
  checkpoints_.run_deferred();
}

EpochReport Epochs::report(bool whole) {
  const Position& position = run_.position;
  EpochReport report;
  report.epoch = position.epoch;
  report.logs = run_.logs();
  report.samples = position.sums.samples;
  report.step = position.step;
  report.learning_rate = run_.rate_of(position.step - 1);
  report.train_seconds = position.epoch_seconds + std::exchange(extra_seconds_, 0.0);
  report.seconds = report.train_seconds + position.validation_seconds;
  report.whole = whole;
  add(position.validated, report.logs);
  return report;
}

void Epochs::log_line(const EpochReport& report, std::int64_t batches) const {
  log::info(fmt::format("{}/{} - {}{} - {}", batches, run_.session.steps_per_epoch(), duration_text(report.seconds),
                        values_text(report.logs.items()), speed_text(report.examples_per_second())),
            epoch_fields(report));
  log::debug(human_bytes(session::resident_bytes()) + " of memory in use");
}

bool Epochs::end() {
  log_.write();
  if (!checkpoints_.is_usable()) return false;
  const Stopwatch watch;
  EpochReport report = this->report(true);
  if (validates_at_end()) {
    const std::optional<experiment::Logs> values = validate();
    if (!values) {
      extra_seconds_ = report.train_seconds - run_.position.epoch_seconds;
      return false;
    }
    add(*values, report.logs);
  }
  report.seconds += watch.seconds();

  log_line(report, run_.session.steps_per_epoch());
  run_.session.warn_about_bad_samples(run_.directory.file(experiment::kDataErrors));  // found in validation
  remember_best(report.logs, report.epoch, run_);
  // Callbacks save the state after this epoch.
  run_.position.seconds += report.seconds;
  step_to_next();
  checkpoints_.defer();
  {
    const trace::Span span("trainer", "callbacks at the end of an epoch");
    for (const auto& callback : run_.callbacks) callback->epoch_end(control_, report);
  }
  run_.sinks->epoch(report);  // before a checkpoint with this epoch is on disk
  checkpoints_.run_deferred();
  run_.position.last_logs = report.logs;
  checkpoints_.save_last();
  return true;
}

void Epochs::step_to_next() {
  Position& position = run_.position;
  ++position.epoch;
  position.samples = 0;
  position.sums = {};
  position.sums.outputs.assign(run_.session.plan().sums(), 0.0);
  position.epoch_seconds = position.validation_seconds = 0;
  position.validated = {};
}

void Epochs::end_early() {
  if (run_.position.samples == 0) return;
  log_.write();
  const EpochReport report = this->report(false);
  run_.position.last_logs = report.logs;
  log_line(report, log_.batch());
  run_.sinks->epoch(report);
}

}  // namespace dptrain::train
