#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "layers/local_response_normalization.h"
#include "train/position.h"
#include "train/signals.h"

namespace dptrain::train {
namespace {

constexpr double kLastEverySeconds = 600;  // a rolling last.h5 every ten minutes
constexpr const char* kDiverged = "diverged";

std::string values_text(const std::vector<std::pair<std::string, double>>& values) {
  std::string text;
  for (const auto& [name, value] : values) text += fmt::format(" - {}: {:.4f}", name, value);
  return text;
}

std::string save_note(const checkpoint::Saved& saved) {
  return fmt::format("saved {} {} {:.0f} ms", std::filesystem::path(saved.path).filename().string(), human_bytes(saved.bytes),
                     saved.seconds * 1e3);
}

}  // namespace

Trainer::Trainer(Session& session, RunDirectory& run, const FitOptions& options)
    : session_(session), run_(run), options_(options), progress_(options.progress) {
  for (const CallbackConfig& callback : session_.experiment().config.callbacks) callbacks_.push_back(make_callback(callback));
  position_.sums.metrics.assign(session_.plan().loss.metrics.size(), 0.0);
  session_.on_bad_sample([this](const data::BadSample& bad) { run_.data_error(bad); });
  writer_ = std::make_unique<checkpoint::Writer>([](const checkpoint::Saved& saved) {
    if (saved.error)
      log::warn(fmt::format("{}; training goes on, the next save tries again", saved.error->what()));
    else
      log::debug(save_note(saved));
  });
}

Trainer::~Trainer() { session_.on_bad_sample({}); }

FitResult Trainer::fit() {
  const Signals signals;
  started_ = last_save_ = now_seconds();
  for (const auto& callback : callbacks_) callback->train_begin(*this, resumed_);
  if (!resumed_) save_last();  // proves the path before an epoch's work hangs on it
  if (session_.caches_prefix() && !finished()) compute_features();
  data::Loader& loader = session_.train_loader();
  loader.seek(position_.epoch, position_.samples);
  while (!finished()) {
    if (position_.samples == 0) log::info(fmt::format("Epoch {}{}", position_.epoch + 1, epochs_text()));
    interval_ = {};
    interval_.started = now_seconds();
    while (queued_samples() < loader.samples() && !finished()) {
      data::Batch batch = loader.next();
      if (batch.rows() == 0) {  // the last ones could not be read
        catch_up();
        position_.samples = loader.samples();
        break;
      }
      train_step(std::move(batch));
      obey_signals();
    }
    catch_up();
    if (position_.samples == loader.samples()) {
      end_epoch();
      loader.next_epoch();
    }
  }
  return finish();
}

/// Features of the frozen prefix, from the weights that training starts with.
void Trainer::compute_features() {
  const Stopwatch watch;
  const std::int64_t all = session_.prefix_samples();
  const bool whole = session_.compute_features([&](std::int64_t done) {
    progress_.draw(done, all, watch.seconds(), " - features");
    obey_signals();
    return stop_reason_.empty();
  });
  features_seconds_ = watch.seconds();
  progress_.clear();
  if (!whole) return;
  log::info(fmt::format("features of {} samples in {:.1f} s, {:.0f} ex/s; from here on only the rest of the network runs", all,
                        features_seconds_, static_cast<double>(all) / features_seconds_));
  run_.event("features", {{"samples", all}, {"seconds", features_seconds_}});
}

/// Devices that run behind the host are kept some steps ahead of what is collected, so that they never wait for it.
void Trainer::train_step(data::Batch batch) {
  const Stopwatch watch;
  const std::int64_t number = queued_steps();
  const replica::StepInputs inputs{number, rate_of(number), batch.rows()};
  replica::ReplicaSet& replicas = session_.replicas();
  replicas.queue_step(host_batch(batch, session_.plan().inputs.size()), inputs);
  const double seconds = watch.seconds();
  position_.epoch_seconds += seconds + batch.waited();
  interval_.waited += batch.waited();
  interval_.step_seconds += seconds;
  interval_.comm += replicas.times().comm_exposed;
  ahead_.push_back(std::move(batch));
  if (must_stop_at(number + 1)) return catch_up();
  while (!ahead_.empty() && (ahead_.size() == replica::Replica::kMostQueued || replicas.done())) collect_step();
}

bool Trainer::must_stop_at(std::int64_t step) {
  bool must = now_seconds() - last_save_ > kLastEverySeconds;
  for (const auto& callback : callbacks_) must = callback->stops_at(*this, step) || must;
  return must;
}

std::int64_t Trainer::queued_steps() const { return position_.step + static_cast<std::int64_t>(ahead_.size()); }

std::int64_t Trainer::queued_samples() const { return ahead_.empty() ? position_.samples : ahead_.back().end(); }

void Trainer::collect_step() {
  const Stopwatch watch;
  const replica::StepSums sums = session_.replicas().collect();
  const double seconds = watch.seconds();
  position_.epoch_seconds += seconds;
  interval_.step_seconds += seconds;
  const data::Batch batch = std::move(ahead_.front());
  ahead_.pop_front();
  if (stop_reason_ == kDiverged) return;  // went on from what is no number
  after_step(sums, batch);
}

/// Until the devices stand where position_ does.
void Trainer::catch_up() {
  while (!ahead_.empty()) collect_step();
}

void Trainer::after_step(const replica::StepSums& sums, const data::Batch& batch) {
  const double rows = static_cast<double>(sums.samples);
  position_.sums.loss += sums.loss + sums.penalty * rows;
  position_.sums.samples += sums.samples;
  for (std::size_t i = 0; i < sums.metrics.size(); ++i) position_.sums.metrics[i] += sums.metrics[i];
  position_.samples = batch.end();
  ++position_.step;

  interval_.loss += sums.loss + sums.penalty * rows;
  interval_.samples += sums.samples;
  ++interval_.steps;

  const double loss = sums.loss / rows + sums.penalty;
  const StepReport report{position_.step, position_.epoch, batch.first() / session_.global_batch() + 1, loss};
  if (!std::isfinite(loss) && !warned_not_finite_) {
    warned_not_finite_ = true;
    log::warn(fmt::format("loss is {} at step {}; the callback TerminateOnNaN would stop here", loss, position_.step));
  }
  for (const auto& callback : callbacks_) callback->step_end(*this, report);
  if (interval_over()) log_interval();
  if (progress_.visible())
    progress_.draw(report.batch, session_.steps_per_epoch(), position_.epoch_seconds, values_text(means(session_.plan(), position_.sums)));
  if (ahead_.empty() && now_seconds() - last_save_ > kLastEverySeconds) save_last();
}

/// One line for the log and one row of steps.csv about the steps since the last one.
void Trainer::log_interval() {
  if (interval_.steps == 0) return;
  const double steps = static_cast<double>(interval_.steps), samples = static_cast<double>(interval_.samples);
  const double rate = samples / (interval_.step_seconds + interval_.waited);
  RunDirectory::StepRow row;
  row.step = position_.step;
  row.epoch_from_1 = position_.epoch + 1;
  row.loss = interval_.loss / samples;
  row.learning_rate = rate_of(position_.step - 1);
  row.examples_per_second = rate;
  row.step_ms = interval_.step_seconds / steps * 1e3;
  row.data_wait_ms = interval_.waited / steps * 1e3;
  row.comm_exposed_ms = interval_.comm / steps * 1e3;
  run_.step_row(row);
  run_.event("step", {{"step", row.step}, {"epoch", row.epoch_from_1}, {"loss", row.loss}, {"lr", row.learning_rate}});
  const std::int64_t batch = (position_.samples + session_.global_batch() - 1) / session_.global_batch();
  const std::string line =
      fmt::format("step {}/{}{} - lr: {:.3e} - {:.0f} ex/s - {:.1f} ms (data {:.1f} comm {:.1f})", batch, session_.steps_per_epoch(),
                  values_text(means(session_.plan(), position_.sums)), row.learning_rate, rate, row.step_ms, row.data_wait_ms, row.comm_exposed_ms);
  progress_.clear();
  if (progress_.visible()) log::debug(line);
  else log::info(line);
  warn_when_starved(row);
  session_.warn_about_bad_samples(run_.file("data-errors.csv"));
  interval_ = {};
  interval_.started = now_seconds();
}

void Trainer::warn_when_starved(const RunDirectory::StepRow& row) {
  constexpr double kNoticeable = 0.2;  // of the step
  const bool first = !std::exchange(past_first_interval_, true);  // it holds the start-up
  if (first || warned_starved_ || interval_.steps < 2) return;
  if (row.data_wait_ms + row.comm_exposed_ms < kNoticeable * (row.step_ms + row.data_wait_ms)) return;
  warned_starved_ = true;
  log::warn(fmt::format("{:.0f} % of the step goes to waiting for data and {:.0f} % to the all-reduce; `dptrain bench` shows more",
                        100 * row.data_wait_ms / (row.step_ms + row.data_wait_ms), 100 * row.comm_exposed_ms / row.step_ms));
}

Logs Trainer::epoch_logs() const {
  Logs logs;
  for (const auto& [name, value] : means(session_.plan(), position_.sums)) logs.set(name, value);
  return logs;
}

void Trainer::end_epoch() {
  log_interval();
  Stopwatch watch;
  EpochReport report;
  report.epoch = position_.epoch;
  report.logs = epoch_logs();
  report.samples = position_.sums.samples;
  report.train_seconds = position_.epoch_seconds + std::exchange(features_seconds_, 0.0);
  const std::int64_t every = static_cast<std::int64_t>(session_.experiment().config.train.validate_every.value);
  if (has_validation() && (position_.epoch + 1) % every == 0)
    for (const auto& [name, value] : means(session_.plan(), evaluate(session_, *session_.validation_loader())))
      report.logs.set("val_" + name, value);
  report.seconds = report.train_seconds + watch.seconds();
  position_.seconds += report.seconds;

  const double examples = static_cast<double>(report.samples) / report.train_seconds;
  progress_.clear();
  log::info(fmt::format("{0}/{0} - {1:.0f}s{2} - {3:.0f} ex/s - rss {4}", session_.steps_per_epoch(), report.seconds,
                        values_text(report.logs.items()), examples, human_bytes(resident_bytes())));
  session_.warn_about_bad_samples(run_.file("data-errors.csv"));  // met in validation
  run_.epoch_row(position_.epoch + 1, report.logs, rate_of(position_.step - 1), examples, report.seconds);
  remember_best(report);
  // The state that callbacks save is the one after this epoch.
  ++position_.epoch;
  position_.samples = 0;
  position_.sums = {};
  position_.sums.metrics.assign(session_.plan().loss.metrics.size(), 0.0);
  position_.epoch_seconds = 0;
  defers_ = true;
  for (const auto& callback : callbacks_) callback->epoch_end(*this, report);
  defers_ = false;
  for (const auto& action : std::exchange(deferred_, {})) action();
  last_logs_ = report.logs;
  save_last();
  run_.event("epoch", epoch_event(report));
}

nlohmann::json Trainer::epoch_event(const EpochReport& report) const {
  nlohmann::json fields{{"epoch", report.epoch + 1}, {"step", position_.step}, {"seconds", report.seconds}};
  for (const auto& [name, value] : report.logs.items()) fields[name] = value;
  return fields;
}

void Trainer::remember_best(const EpochReport& report) {
  for (const auto& [name, value] : report.logs.items()) {
    const auto found = best_.find(name);
    const std::optional<double> old = found == best_.end() ? std::nullopt : std::optional(found->second.first);
    if (improved(value, old, wants_max(MonitorMode::kAuto, name), 0)) best_[name] = {value, report.epoch + 1};
  }
}

bool Trainer::finished() const {
  if (!stop_reason_.empty()) return true;
  const TrainSection& train = session_.experiment().config.train;
  const bool flags = options_.epochs || options_.steps;
  const auto epochs = flags ? options_.epochs : train.epochs;
  const auto steps = flags ? options_.steps : train.steps;
  return (epochs && position_.epoch >= *epochs) || (steps && queued_steps() >= *steps);
}

std::string Trainer::epochs_text() const {
  const TrainSection& train = session_.experiment().config.train;
  const bool flags = options_.epochs || options_.steps;
  const auto epochs = flags ? options_.epochs : train.epochs;
  if (epochs) return fmt::format("/{}", *epochs);
  const auto steps = flags ? options_.steps : train.steps;
  return fmt::format("/{}", (*steps + session_.steps_per_epoch() - 1) / session_.steps_per_epoch());
}

void Trainer::obey_signals() {
  if (Signals::take_save()) {
    catch_up();
    save_last();
  }
  if (Signals::take_status())
    log::info(fmt::format("status: epoch {} step {} sample {}{}", position_.epoch + 1, position_.step, position_.samples,
                          values_text(means(session_.plan(), position_.sums))));
  if (const int signal = Signals::stop_signal(); signal != 0 && signal_ == 0) {
    signal_ = signal;
    catch_up();
    progress_.clear();
    log::info(fmt::format("{}: saving and stopping after step {}", signal == SIGINT ? "SIGINT" : "SIGTERM", position_.step));
    stop("signal");
  }
  const auto& limit = session_.experiment().config.train.max_time;
  if (limit && now_seconds() - started_ >= limit->value) stop("max_time");
}

/// The row of a run that ends inside an epoch; the whole epoch's row replaces it after a resume.
void Trainer::partial_epoch() {
  if (position_.samples == 0) return;
  log_interval();
  last_logs_ = epoch_logs();
  progress_.clear();
  const double seconds = position_.epoch_seconds + std::exchange(features_seconds_, 0.0);
  const double examples = static_cast<double>(position_.sums.samples) / seconds;
  log::info(fmt::format("{}/{} - {:.0f}s{} - {:.0f} ex/s - rss {}", (position_.samples + session_.global_batch() - 1) / session_.global_batch(),
                        session_.steps_per_epoch(), seconds, values_text(last_logs_.items()), examples, human_bytes(resident_bytes())));
  run_.epoch_row(position_.epoch + 1, last_logs_, rate_of(position_.step - 1), examples, seconds);
}

FitResult Trainer::finish() {
  partial_epoch();
  if (stop_reason_ != kDiverged) save_last();
  for (const auto& callback : callbacks_) callback->train_end(*this);
  export_model();
  writer_->drain();

  FitResult result;
  result.exit = stop_reason_.empty() ? "completed" : stop_reason_;
  result.final = last_logs_;
  if (result.exit == "signal") result.exit_code = 128 + signal_;
  if (result.exit == kDiverged) result.exit_code = static_cast<int>(ErrorKind::kDiverged);
  const std::optional<Error> failed = writer_->last_error();
  if (failed && result.exit_code == 0) result.exit_code = failed->exit_code();
  write_result(result);
  return result;
}

void Trainer::write_result(const FitResult& result) {
  nlohmann::json final = nlohmann::json::object(), best = nlohmann::json::object();
  for (const auto& [name, value] : result.final.items()) final[name] = value;
  const std::string monitor = best_.contains("val_loss") ? "val_loss" : "loss";
  for (const auto& [name, entry] : best_) best[name] = entry.first;
  if (best_.contains(monitor)) best["epoch"] = best_[monitor].second;
  nlohmann::json checkpoints{{"last", run_.checkpoint("last.h5")}};
  if (std::filesystem::exists(run_.checkpoint("best.h5"))) checkpoints["best"] = run_.checkpoint("best.h5");
  const double seconds = position_.seconds + position_.epoch_seconds;
  const double samples = static_cast<double>(position_.epoch * session_.train_loader().samples() + position_.samples);
  run_.write_json("result.json", {{"exit", result.exit}, {"epochs", position_.epoch}, {"steps", position_.step}, {"seconds", seconds},
                                  {"examples_per_second", samples / std::max(seconds, 1e-9)}, {"final", final}, {"best", best},
                                  {"checkpoints", checkpoints}});
  run_.event("end", {{"exit", result.exit}, {"step", position_.step}, {"saves", saves_}, {"save_stall_seconds", save_stall_}});
}

// Host

bool Trainer::has_validation() const { return session_.validation_loader() != nullptr; }

bool Trainer::has_schedule() const {
  return optim::common(session_.experiment().config.train.optimizer).learning_rate.is_schedule();
}

double Trainer::rate_of(std::int64_t step) const {
  return position_.learning_rate ? *position_.learning_rate : session_.scheduled_rate(std::max<std::int64_t>(0, step));
}

double Trainer::learning_rate() const { return rate_of(position_.step); }

void Trainer::stop(const std::string& reason) {
  if (stop_reason_.empty()) stop_reason_ = reason;
}

bool Trainer::interval_over() const {
  const config::Duration& every = session_.experiment().config.train.log_every;
  if (every.unit == config::Duration::Unit::kSeconds) return now_seconds() - interval_.started >= every.value;
  return position_.step % std::max<std::int64_t>(1, every.steps(session_.steps_per_epoch(), session_.global_batch())) == 0;
}

const graph::Model& Trainer::pulled_model() {
  if (pulled_at_step_ != position_.step) {
    session_.replicas().pull(session_.model());
    pulled_at_step_ = position_.step;
  }
  return session_.model();
}

void Trainer::push_weights(const std::vector<std::vector<float>>& weights) {
  graph::Model& model = session_.model();
  for (std::size_t i = 0; i < weights.size(); ++i) model.weights[i].values = weights[i];
  session_.replicas().push(model);
  pulled_at_step_ = position_.step;
}

checkpoint::Compiled Trainer::compiled() const {
  const TrainSection& train = session_.experiment().config.train;
  return {train.optimizer, learning_rate(), train.loss, {train.metrics.begin(), train.metrics.end()}};
}

void Trainer::submit(const std::vector<std::string>& names, bool private_state) {
  const Stopwatch stall;  // the copy, and waiting for the writer when saves come faster than the disk
  checkpoint::Job job;
  job.model = std::make_shared<const graph::Model>(pulled_model());
  job.state = std::make_shared<const checkpoint::State>(make_state(session_, position_, callbacks_, best_));
  job.compiled = compiled();
  for (const std::string& name : names) job.paths.push_back(run_.checkpoint(name));
  job.private_state = private_state;
  writer_->submit(std::move(job));
  ++saves_;
  save_stall_ += stall.seconds();
}

void Trainer::save(const std::string& name, bool weights_only, const std::string& note) {
  now_or_deferred([this, name, weights_only] { submit({name}, !weights_only); });
  progress_.clear();
  log::info(fmt::format("saving checkpoints/{}{}{}", name, note.empty() ? "" : "; ", note));
  run_.event("save", {{"file", name}, {"step", position_.step}, {"note", note}});
}

void Trainer::now_or_deferred(std::function<void()> action) {
  if (defers_) deferred_.push_back(std::move(action));
  else action();
}

void Trainer::save_last() {
  submit({"last.h5"}, true);
  last_save_ = now_seconds();
}

void Trainer::remove_checkpoint(const std::string& name) {
  now_or_deferred([this, name] {
    writer_->drain();  // it may still be on its way to the disk
    std::error_code ignored;
    std::filesystem::remove(run_.checkpoint(name), ignored);
  });
}

/// The file to hand on: no private state, the averages where use_ema.
void Trainer::export_model() {
  graph::Model model = pulled_model();
  if (optim::common(session_.experiment().config.train.optimizer).use_ema) use_averages(session_, model);
  try {
    checkpoint::export_model(run_.file("model.h5"), model, compiled(), session_.class_names());
    for (const graph::Layer& layer : model.graph.layers)
      if (layer.spec.get_if<layers::LocalResponseNormalizationSpec>() != nullptr)
        return log::info("Keras has no LocalResponseNormalization: it opens model.h5 with custom_objects (scripts/interop/lrn.py)");
  } catch (const Error& error) {
    log::warn(error.what());
  }
}

void Trainer::resume(const checkpoint::State& state) {
  position_ = restore_state(state, session_, callbacks_, best_);
  resumed_ = true;
  run_.truncate_to(position_.epoch, position_.step);
  std::string best;
  for (const char* name : {"val_accuracy", "val_loss"})
    if (best.empty() && best_.contains(name)) best = fmt::format("; best {} {:.4f} (epoch {})", name, best_[name].first, best_[name].second);
  log::info(fmt::format("resumed at epoch {}, step {}, sample {}{}", position_.epoch + 1, position_.step, position_.samples, best));
}

}  // namespace dptrain::train
