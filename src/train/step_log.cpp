#include "train/step_log.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/format.h"
#include "core/log.h"
#include "core/rate.h"

namespace dptrain::train {

std::string values_text(const std::vector<std::pair<std::string, double>>& values) {
  std::string text;
  for (const auto& [name, value] : values) text += fmt::format(" - {}: {:.4f}", name, value);
  return text;
}

std::int64_t StepLog::batch_of(const Position& position) const {
  return (position.samples + session_.global_batch() - 1) / session_.global_batch();
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
  ++interval_.steps;
}

bool StepLog::due(const Position& position) const {
  const config::Duration& every = session_.experiment().config.train.log_every;
  if (every.unit == config::Duration::Unit::kSeconds) return now_seconds() - interval_.started >= every.value;
  const std::int64_t steps =
      std::max<std::int64_t>(1, every.steps(session_.steps_per_epoch(), session_.global_batch()));
  return (steps > session_.steps_per_epoch() ? position.step : batch_of(position)) % steps == 0;
}

/// One line for the log and one row of steps.csv about the steps since the last one.
void StepLog::write(const Position& position, double learning_rate) {
  if (interval_.steps == 0) return;
  const double steps = static_cast<double>(interval_.steps), samples = static_cast<double>(interval_.samples);
  const double rate = samples / (interval_.step_seconds + interval_.waited);
  RunDirectory::StepRow row;
  row.step = position.step;
  row.epoch_from_1 = position.epoch + 1;
  row.loss = interval_.loss / samples;
  row.learning_rate = learning_rate;
  row.examples_per_second = rate;
  row.step_ms = interval_.step_seconds / steps * 1e3;
  row.data_wait_ms = interval_.waited / steps * 1e3;
  row.comm_exposed_ms = interval_.comm / steps * 1e3;
  run_.step_row(row);
  run_.event("step", {{"step", row.step}, {"epoch", row.epoch_from_1}, {"loss", row.loss}, {"lr", row.learning_rate}});
  const std::int64_t batch = batch_of(position);
  const std::string line =
      fmt::format("step {}/{}{} - lr: {:.3e} - {} ex/s - {:.1f} ms (data {:.1f} comm {:.1f})", batch,
                  session_.steps_per_epoch(), values_text(session::values_of(session_.plan(), position.sums)),
                  row.learning_rate, rate_text(rate), row.step_ms, row.data_wait_ms, row.comm_exposed_ms);
  progress_.clear();
  if (progress_.visible() || batch == session_.steps_per_epoch())  // the epoch's line follows
    log::debug(line);
  else
    log::info(line);
  warn_when_starved(row);
  session_.warn_about_bad_samples(run_.file("data-errors.csv"));
  restart();
}

void StepLog::warn_when_starved(const RunDirectory::StepRow& row) {
  constexpr double kNoticeable = 0.2;                    // of the step
  constexpr double kLeastMs = 1;                         // in a step of a tenth of that the clock sees anything
  const bool first = !std::exchange(past_first_, true);  // it holds the start-up
  if (first || warned_starved_ || interval_.steps < 2) return;
  const double waits = row.data_wait_ms + row.comm_exposed_ms;
  if (waits < kLeastMs || waits < kNoticeable * (row.step_ms + row.data_wait_ms)) return;
  warned_starved_ = true;
  log::warn(fmt::format(
      "{:.0f} % of the step goes to waiting for data and {:.0f} % to the all-reduce; `dptrain bench` shows more",
      100 * row.data_wait_ms / (row.step_ms + row.data_wait_ms), 100 * row.comm_exposed_ms / row.step_ms));
}

}  // namespace dptrain::train
