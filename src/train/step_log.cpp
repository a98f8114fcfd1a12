#include "train/step_log.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/format.h"
#include "core/log.h"
#include "core/log_fields.h"
#include "core/machine.h"
#include "core/quantity.h"
#include "core/text.h"
#include "experiment/run_files.h"
#include "session/session.h"

namespace dptrain::train {
namespace {

/// Fields of the step's line with --log json: values of the epoch so far, and the interval's values as in steps.csv.
nlohmann::ordered_json step_fields(const IntervalReport& report) {
  nlohmann::ordered_json fields{{"ev", "step"}, {"epoch", report.last.epoch + 1}, {"step", report.last.step}};
  for (const auto& [name, value] : report.last.logs.items()) fields[name] = value;
  fields.update({{"lr", report.last.learning_rate},
                 {"examples_per_second", report.examples_per_second},
                 {"step_ms", report.step_ms},
                 {"data_wait_ms", report.data_wait_ms},
                 {"comm_exposed_ms", report.comm_exposed_ms}});
  return fields;
}

/// Omits the load if the run has several processes: their threads would count as other programs.
MachineUse machine_use(session::Session& session) {
  const session::DeviceRequest& devices = session.devices();
  MachineUse use{.workers = session.train_loader().workers(), .on_cpus = !devices.on_gpus(), .cores = machine::cpus()};
  use.own_threads = static_cast<double>(session.replica_count() * devices.threads + use.workers);
  if (double minute = 0; session.processes() == nullptr && getloadavg(&minute, 1) == 1) use.load = minute;
  return use;
}

}  // namespace

std::string values_text(const std::vector<std::pair<std::string, double>>& values) {
  std::string text;
  for (const auto& [name, value] : values) text += fmt::format(" - {}: {}", name, metric_text(value));
  return text;
}

std::string waiting_text(const Waits& waits, const MachineUse& use) {
  constexpr double kMinShare = 0.1, kMinSeconds = 2, kBusyCores = 0.5;
  const auto matters = [&](double seconds) { return seconds >= kMinSeconds && seconds >= kMinShare * waits.elapsed; };
  const auto percent = [&](double seconds) { return fmt::format("{:.0f} %", 100 * seconds / waits.elapsed); };
  std::vector<std::string> facts, advice;
  if (matters(waits.for_data)) {
    facts.push_back(percent(waits.for_data) + " of the time so far was spent waiting for data");
    advice.push_back(fmt::format("more loader workers (data.loader.workers, now {})", use.workers));
  }
  if (matters(waits.for_replicas)) {
    facts.push_back(percent(waits.for_replicas) + (facts.empty()
                                                       ? " of the time so far was spent waiting for other replicas"
                                                       : " waiting for other replicas"));
    advice.push_back("a larger batch");
    advice.push_back("fewer replicas");
  }
  if (facts.empty()) return "";
  const double others = use.load - use.own_threads;
  const std::string busy = use.on_cpus && others >= kBusyCores
                               ? fmt::format("; other programs keep about {:.0f} of {} cores busy",
                                             std::max(1.0, std::min<double>(others, use.cores)), use.cores)
                               : "";
  return fmt::format("{}{}; try {}", join(facts, ", "), busy, join(advice, " or "));
}

std::int64_t StepLog::batch() const {
  const std::int64_t global_batch = run_.session.global_batch();
  return (run_.position.samples + global_batch - 1) / global_batch;
}

void StepLog::restart() {
  interval_ = {};
  interval_.started = now_seconds();
}

void StepLog::add_queued(double waited, double seconds, double comm) {
  interval_.waited += waited;
  interval_.step_seconds += seconds;
  interval_.comm += comm;
}

void StepLog::add_sums(double loss, std::int64_t samples) {
  interval_.loss += loss;
  interval_.samples += samples;
  last_loss_ = loss / static_cast<double>(samples);
  ++interval_.steps;
}

bool StepLog::due() const {
  const session::Session& session = run_.session;
  const config::Duration& every = session.experiment().config.train.log_every;
  if (every.unit == config::Duration::Unit::kSeconds) return now_seconds() - interval_.started >= every.value;
  const std::int64_t steps = std::max<std::int64_t>(1, every.steps(session.steps_per_epoch(), session.global_batch()));
  return batch() % steps == 0;  // never in an epoch with fewer steps; its end writes a line
}

void StepLog::write() {
  if (interval_.steps == 0) return;
  const Position& position = run_.position;
  const double steps = static_cast<double>(interval_.steps), samples = static_cast<double>(interval_.samples);
  IntervalReport report;
  report.last = {position.step, position.epoch, batch(), last_loss_, run_.logs(), run_.rate_of(position.step - 1)};
  report.loss = interval_.loss / samples;
  report.examples_per_second = samples / (interval_.step_seconds + interval_.waited);
  report.step_ms = interval_.step_seconds / steps * 1e3;
  report.data_wait_ms = interval_.waited / steps * 1e3;
  report.comm_exposed_ms = interval_.comm / steps * 1e3;
  run_.sinks->step(report);
  const std::string line =
      fmt::format("step {}/{}{} - lr: {:.3e} - {} - {:.1f} ms/step (data {:.1f} comm {:.1f})", report.last.batch,
                  run_.session.steps_per_epoch(), values_text(report.last.logs.items()), report.last.learning_rate,
                  speed_text(report.examples_per_second), report.step_ms, report.data_wait_ms, report.comm_exposed_ms);
  if (run_.progress.visible() || report.last.batch == run_.session.steps_per_epoch())  // the epoch's line follows
    log::debug(line, step_fields(report));
  else
    log::info(line, step_fields(report));
  warn_of_waiting();
  run_.session.warn_about_bad_samples(run_.directory.file(experiment::kDataErrors));
  restart();
}

void StepLog::warn_of_waiting() {
  const bool first = !watched_from_;
  if (first) watched_from_ = now_seconds();
  if (first || warned_of_waiting_ || !run_.world.is_first()) return;
  waits_.for_data += interval_.waited;
  waits_.for_replicas += interval_.comm;
  waits_.elapsed = now_seconds() - *watched_from_;
  const std::string text = waiting_text(waits_, machine_use(run_.session));
  if (text.empty()) return;
  warned_of_waiting_ = true;
  log::warn(text);
}

}  // namespace dptrain::train
