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
#include "core/rate.h"
#include "core/text.h"
#include "experiment/objectives.h"
#include "train/fault.h"
#include "train/position.h"
#include "train/signals.h"

namespace dptrain::train {
namespace {

constexpr double kLastEverySeconds = 600;  // a rolling last.h5 every ten minutes
constexpr const char* kDiverged = "diverged";

}  // namespace

Trainer::Trainer(session::Session& session, RunDirectory& run, const FitOptions& options)
    : session_(session),
      run_(run),
      goal_(experiment::Goal::of(session.experiment().config.train, options.epochs, options.steps)),
      ahead_(session.replicas()),
      progress_(options.progress),
      log_(session, run, progress_),
      saver_(run),
      nonfinite_(session.experiment().config.train.on_nonfinite) {
  for (const experiment::CallbackConfig& callback : session_.experiment().config.callbacks)
    callbacks_.push_back(make_callback(callback));
  position_.sums.outputs.assign(session_.plan().sums(), 0.0);
  session_.on_bad_sample([this](const data::BadSample& bad) { run_.data_error(bad); });
}

Trainer::~Trainer() {
  session_.on_bad_sample({});
  session_.replicas().set_last_words({});
}

FitResult Trainer::fit() try {
  const Training training;
  started_ = last_save_ = now_seconds();
  session_.replicas().set_last_words([this](const Error& why) { leave_failure(why); });
  for (const auto& callback : callbacks_) callback->train_begin(*this, resumed_);
  if (!resumed_) save_last();  // proves the path before an epoch's work hangs on it
  if (session_.caches_prefix() && !finished()) compute_features();
  data::Loader& loader = session_.train_loader();
  loader.seek(position_.epoch, position_.samples);
  while (!finished()) {
    if (position_.samples == 0) log::info(fmt::format("Epoch {}{}", position_.epoch + 1, epochs_text()));
    log_.restart();
    while (queued_samples() < loader.samples() && !finished() && !rolls_back_) {
      data::Batch batch = loader.next();
      if (batch.rows() == 0) {  // the last ones could not be read
        catch_up();
        if (!failed()) position_.samples = loader.samples();
        break;
      }
      train_step(std::move(batch));
      obey_signals();
    }
    catch_up();
    if (!failed() && position_.samples == loader.samples()) {
      if (end_epoch()) loader.next_epoch();
    } else if (finished()) {
      may_save();
    }
    if (rolls_back_) roll_back();
  }
  return finish();
} catch (const std::exception& error) {
  leave_failure(error);
  throw;
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
  log::info(fmt::format("features of {} samples in {:.1f} s, {} ex/s; from here on only the rest of the network runs",
                        all, features_seconds_, rate_text(static_cast<double>(all) / features_seconds_)));
  run_.event("features", {{"samples", all}, {"seconds", features_seconds_}});
}

/// Devices that run behind the host are kept some steps ahead of what is collected, so that they never wait for it.
void Trainer::train_step(data::Batch batch) {
  const Stopwatch watch;
  const std::int64_t number = queued_steps();
  const replica::StepInputs inputs{number, rate_of(number), batch.rows()};
  const double waited = batch.waited();
  ahead_.step(std::make_shared<const data::Batch>(std::move(batch)), inputs);
  const double seconds = watch.seconds();
  position_.epoch_seconds += seconds + waited;
  log_.add_queued(waited, seconds, session_.replicas().times().comm_exposed);
  if (must_stop_at(number + 1)) return catch_up();
  while (ahead_.is_due()) collect_step();
}

bool Trainer::must_stop_at(std::int64_t step) {
  bool must = now_seconds() - last_save_ > kLastEverySeconds;
  for (const auto& callback : callbacks_) must = callback->stops_at(*this, step) || must;
  return must;
}

std::int64_t Trainer::queued_steps() const { return position_.step + static_cast<std::int64_t>(ahead_.size()); }

std::int64_t Trainer::queued_samples() const { return ahead_.empty() ? position_.samples : ahead_.newest().end(); }

void Trainer::collect_step() {
  const Stopwatch watch;
  const auto [sums, batch] = ahead_.collect();
  const double seconds = watch.seconds();
  position_.epoch_seconds += seconds;
  log_.add_collected(seconds);
  if (failed()) return;  // the devices have left it out, too, or it was queued after the loss became NaN
  after_step(sums, *batch);
}

/// Until the devices stand where position_ does.
void Trainer::catch_up() {
  while (!ahead_.empty()) collect_step();
}

void Trainer::after_step(const replica::StepSums& sums, const data::Batch& batch) {
  const double rows = static_cast<double>(sums.samples);
  const double loss = sums.loss / rows + sums.penalty;
  const BadStep bad{batch, loss};
  if (!std::isfinite(loss)) {
    const std::string value = std::isnan(loss) ? "nan" : fmt::format("{}", loss);  // whose sign says nothing
    return not_finite(fmt::format("the loss of step {} is {}", position_.step + 1, value), &bad);
  }
  if (sums.left_out)
    return not_finite(fmt::format("gradients of step {} are not finite, its loss is {:.6g}", position_.step + 1, loss),
                      &bad);
  position_.sums.loss += sums.loss + sums.penalty * rows;
  position_.sums.samples += sums.samples;
  for (std::size_t i = 0; i < sums.outputs.size(); ++i) position_.sums.outputs[i] += sums.outputs[i];
  count(batch);
  snapshot_.reset();

  log_.add_sums(sums.loss + sums.penalty * rows, sums.samples);

  const StepReport report{position_.step, position_.epoch, batch.first() / session_.global_batch() + 1, loss};
  for (const auto& callback : callbacks_) callback->step_end(*this, report);
  if (log_.due(position_)) log_interval();
  if (progress_.visible())
    progress_.draw(report.batch, session_.steps_per_epoch(), position_.epoch_seconds,
                   values_text(session::values_of(session_.plan(), position_.sums)));
  if (ahead_.empty() && now_seconds() - last_save_ > kLastEverySeconds) save_last();
}

void Trainer::count(const data::Batch& batch) {
  position_.samples = batch.end();
  ++position_.step;
}

bool Trainer::failed() const { return stop_reason_ == kDiverged || rolls_back_; }

/// `step`: the one that was left out; null where weights are not finite, which nothing can mend in place.
void Trainer::not_finite(const std::string& what, const BadStep* step) {
  progress_.clear();
  const experiment::Reaction reaction = nonfinite_.react(step != nullptr);
  constexpr const char* kDoes[] = {"stopping", "its update is left out", "going back to last.h5"};
  log::warn(fmt::format("{}: {}", what, kDoes[static_cast<int>(reaction)]));
  run_.event("nonfinite", {{"what", what}, {"step", position_.step}});
  if (reaction == experiment::Reaction::kStop) stop_reason_ = kDiverged, diverged_ = what;
  if (reaction == experiment::Reaction::kRollBack) rolls_back_ = true;
  const bool stand_still = reaction != experiment::Reaction::kSkip && session_.plan().compute != DType::kF16;
  const bool before_the_step =
      stand_still || ahead_.empty();  // are the weights, on devices that have steps queued behind it
  if (reaction != experiment::Reaction::kSkip) catch_up();
  if (before_the_step) leave_fault(what, step);
  if (reaction == experiment::Reaction::kSkip) count(step->batch);
}

/// RUN/fault, from the weights before the step.
void Trainer::leave_fault(const std::string& what, const BadStep* step) try {
  const std::string folder = run_.file("fault");
  const std::shared_ptr<const graph::Model> model = snapshot();
  std::optional<Fault> fault = examine(*model, what);
  if (!fault && step != nullptr) {
    const replica::StepInputs in{position_.step, learning_rate(), step->batch.rows()};
    fault = examine(session_, step->batch, in, position_.epoch, step->loss, what);
    std::filesystem::create_directories(folder);
    checkpoint::save((std::filesystem::path(folder) / kFaultState).string(), *model, compiled(),
                     make_state(session_, position_, callbacks_, best_));
  }
  if (!fault) return;
  write_fault(folder, *fault);
  log::warn(fmt::format("{}; dptrain replay {} does that step again", describe(*fault), folder));
} catch (const std::exception& error) {
  log::warn(fmt::format("what went wrong could not be kept: {}", error.what()));
}

/// RUN/fault after an error, from the last checkpoint.
void Trainer::leave_failure(const std::exception& error) noexcept try {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return;
  const auto* known = dynamic_cast<const Error*>(&error);
  Fault fault{.what = error.what(), .error = known != nullptr ? known->kind() : ErrorKind::kInternal};
  if (!leaves_fault(*fault.error)) return;
  fault.step = position_.step + 1;
  fault.epoch = position_.epoch + 1;
  fault.last_step = queued_steps() + 1;
  fault.devices = session_.devices();
  if (!ahead_.empty()) fault.samples = samples_of(session_, ahead_.oldest());
  saver_.drain();
  const std::string folder = run_.file("fault");
  keep_fault(folder, fault, run_.checkpoint("last.h5"));
  progress_.clear();
  log::warn(fmt::format("dptrain replay {} goes on from the last checkpoint up to the error", folder));
} catch (const std::exception& other) {
  log::warn(fmt::format("what went wrong could not be kept: {}", other.what()));
}

/// Whether the weights are fit to be kept, evaluated or shown.
bool Trainer::may_save() {
  if (failed()) return false;
  snapshot();
  if (!snapshot_is_finite_) not_finite(fmt::format("weights after step {} are not finite", position_.step), nullptr);
  return snapshot_is_finite_;
}

void Trainer::roll_back() {
  saver_.drain();
  const std::string file = run_.checkpoint("last.h5");
  const double factor = position_.rate_factor * nonfinite_.factor();
  graph::Model model = session_.model();
  checkpoint::load_weights(file, model);
  session_.replicas().push(model);
  session_.replicas().push_loss_scale({});
  resume(checkpoint::read_state(file));
  position_.rate_factor = factor;
  snapshot_.reset();
  rolls_back_ = false;
  log::info(fmt::format("learning rate {:.3e} from here on", learning_rate()));
  session_.train_loader().seek(position_.epoch, position_.samples);
}

void Trainer::log_interval() { log_.write(position_, rate_of(position_.step - 1)); }

/// Validation, callbacks, checkpoints. False: weights are not finite, or validation was stopped and will be done again
/// when the run is resumed from here.
bool Trainer::end_epoch() {
  log_interval();
  if (!may_save()) return false;
  Stopwatch watch;
  EpochReport report;
  report.epoch = position_.epoch;
  report.logs = logs_of(session_, position_);
  report.samples = position_.sums.samples;
  report.train_seconds = position_.epoch_seconds + std::exchange(features_seconds_, 0.0);
  const std::int64_t every = static_cast<std::int64_t>(session_.experiment().config.train.validate_every.value);
  if (has_validation() && (position_.epoch + 1) % every == 0) {
    const auto sums =
        evaluate(session_, *session_.validation_loader(), [this] { return obey_signals(), stop_reason_.empty(); });
    if (!sums) {
      features_seconds_ = report.train_seconds - position_.epoch_seconds;
      return false;
    }
    for (const auto& [name, value] : session::values_of(session_.plan(), *sums)) report.logs.set("val_" + name, value);
  }
  report.seconds = report.train_seconds + watch.seconds();
  position_.seconds += report.seconds;

  progress_.clear();
  log_epoch(session_, run_, report, session_.steps_per_epoch(), rate_of(position_.step - 1));
  session_.warn_about_bad_samples(run_.file("data-errors.csv"));  // met in validation
  remember_best(report, best_);
  // The state that callbacks save is the one after this epoch.
  ++position_.epoch;
  position_.samples = 0;
  position_.sums = {};
  position_.sums.outputs.assign(session_.plan().sums(), 0.0);
  position_.epoch_seconds = 0;
  saver_.hold_back();
  for (const auto& callback : callbacks_) callback->epoch_end(*this, report);
  saver_.catch_up();
  position_.last_logs = report.logs;
  save_last();
  write_epoch_event(run_, report, position_.step);
  return true;
}

bool Trainer::finished() const { return !stop_reason_.empty() || goal_.reached(position_.epoch, queued_steps()); }

std::string Trainer::epochs_text() const {
  if (goal_.epochs) return fmt::format("/{}", *goal_.epochs);
  return fmt::format("/{}", (*goal_.steps + session_.steps_per_epoch() - 1) / session_.steps_per_epoch());
}

void Trainer::obey_signals() {
  if (Signals::take_save()) {
    catch_up();
    save_last();
  }
  if (Signals::take_status())
    log::info(fmt::format("status: epoch {} step {} sample {}{}", position_.epoch + 1, position_.step,
                          position_.samples, values_text(session::values_of(session_.plan(), position_.sums))));
  if (const int signal = Signals::stop_signal(); signal != 0 && signal_ == 0) {
    signal_ = signal;
    catch_up();
    progress_.clear();
    log::info(
        fmt::format("{}: saving and stopping after step {}", signal == SIGINT ? "SIGINT" : "SIGTERM", position_.step));
    stop("signal");
  }
  const auto& limit = session_.experiment().config.train.max_time;
  if (limit && now_seconds() - started_ >= limit->value) stop("max_time");
}

/// The row of a run that ends inside an epoch; the whole epoch's row replaces it after a resume.
void Trainer::partial_epoch() {
  if (position_.samples == 0) return;
  log_interval();
  EpochReport report;
  report.epoch = position_.epoch;
  report.logs = position_.last_logs = logs_of(session_, position_);
  report.samples = position_.sums.samples;
  report.seconds = report.train_seconds = position_.epoch_seconds + std::exchange(features_seconds_, 0.0);
  progress_.clear();
  const std::int64_t batches = (position_.samples + session_.global_batch() - 1) / session_.global_batch();
  log_epoch(session_, run_, report, batches, rate_of(position_.step - 1));
}

FitResult Trainer::finish() {
  const bool good = may_save();
  partial_epoch();
  std::optional<Error> failed;
  if (good) {
    save_last();
    for (const auto& callback : callbacks_) callback->train_end(*this);
    failed = export_model();
  }
  if (const std::optional<Error> save = saver_.drain()) failed = save;
  bool all_lines = run_.flush();
  for (const auto& callback : callbacks_) all_lines = callback->flush() && all_lines;
  if (!all_lines && !failed) failed = Error(ErrorKind::kWrite, fmt::format("{}: lines are lost", run_.path()));

  FitResult result;
  result.exit = stop_reason_.empty() ? "completed" : stop_reason_;
  result.final = position_.last_logs;
  result.reason = diverged_;
  result.skipped_steps = nonfinite_.skipped_steps();
  result.rollbacks = nonfinite_.rollbacks();
  if (result.exit == "signal") result.exit_code = 128 + signal_;
  if (result.exit == kDiverged) result.exit_code = static_cast<int>(ErrorKind::kDiverged);
  if (failed && result.exit_code == 0) result.exit_code = failed->exit_code();
  write_result(result, session_, run_, position_, best_, saver_);
  return result;
}

// Host

bool Trainer::has_validation() const { return session_.validation_loader() != nullptr; }

bool Trainer::has_schedule() const {
  return optim::common(session_.experiment().config.train.optimizer).learning_rate.is_schedule();
}

double Trainer::rate_of(std::int64_t step) const {
  return position_.rate_factor * (position_.learning_rate ? *position_.learning_rate
                                                          : session_.scheduled_rate(std::max<std::int64_t>(0, step)));
}

double Trainer::learning_rate() const { return rate_of(position_.step); }

void Trainer::stop(const std::string& reason) {
  if (stop_reason_.empty()) stop_reason_ = reason;
}

std::shared_ptr<const graph::Model> Trainer::snapshot() {
  if (!snapshot_) {
    auto model = std::make_shared<graph::Model>(session_.model());
    session_.replicas().pull(*model);
    snapshot_is_finite_ = experiment::all_finite(*model);
    snapshot_ = std::move(model);
  }
  return snapshot_;
}

void Trainer::push_weights(const std::vector<std::vector<float>>& weights) {
  auto model = std::make_shared<graph::Model>(session_.model());
  for (std::size_t i = 0; i < weights.size(); ++i) model->weights[i].values = weights[i];
  session_.replicas().push(*model);
  snapshot_ = std::move(model);
  restored_ = true;
}

checkpoint::Compiled Trainer::compiled() const {
  const experiment::TrainSection& train = session_.experiment().config.train;
  checkpoint::Compiled compiled{.optimizer = train.optimizer, .learning_rate = learning_rate()};
  const std::vector<std::string> names = experiment::output_names(session_.model().graph);
  for (plan::Objective& objective : objectives(train, session_.model().graph))
    compiled.outputs.push_back({.name = names.size() > 1 ? names[static_cast<std::size_t>(objective.output)] : "",
                                .loss = objective.loss,
                                .weight = objective.weight,
                                .metrics = std::move(objective.metrics)});
  return compiled;
}

void Trainer::submit(const std::vector<std::string>& names, bool private_state) {
  saver_.submit(names, [&] {
    checkpoint::Job job;
    job.model = snapshot();
    job.state = std::make_shared<const checkpoint::State>(make_state(session_, position_, callbacks_, best_));
    job.compiled = compiled();
    job.private_state = private_state;
    return job;
  });
}

void Trainer::save(const std::string& name, bool weights_only, const std::string& note) {
  if (!may_save()) return;
  saver_.now_or_later([this, name, weights_only] { submit({name}, !weights_only); });
  progress_.clear();
  log::info(fmt::format("saving checkpoints/{}{}{}", name, note.empty() ? "" : "; ", note));
  run_.event("save", {{"file", name}, {"step", position_.step}, {"note", note}});
}

void Trainer::save_last() {
  if (!may_save()) return;
  submit({"last.h5"}, true);
  last_save_ = now_seconds();
}

void Trainer::remove_checkpoint(const std::string& name, const std::string& successor) {
  saver_.now_or_later([this, name, successor] { saver_.remove(name, successor); });
}

/// The averages where use_ema.
std::optional<Error> Trainer::export_model() {
  // What EarlyStopping has restored is meant as it is, in Keras too.
  if (restored_ || !optim::common(session_.experiment().config.train.optimizer).use_ema)
    return saver_.export_model(*snapshot(), compiled(), session_.class_names());
  graph::Model model = *snapshot();
  use_averages(session_, model);
  return saver_.export_model(model, compiled(), session_.class_names());
}

void Trainer::resume(const checkpoint::State& state) {
  position_ = restore_state(state, session_, callbacks_, best_);
  resumed_ = true;
  run_.truncate_to(position_.epoch, position_.step);
  std::string best;
  for (const char* name : {"val_accuracy", "val_loss"})
    if (best.empty() && best_.contains(name))
      best = fmt::format("; best {} {:.4f} (epoch {})", name, best_[name].first, best_[name].second);
  const bool other_rate =
      position_.learning_rate || position_.rate_factor != 1;  // than the config's, which the header has
  const std::string rate = other_rate ? fmt::format("; learning rate {:.3e}", learning_rate()) : "";
  log::info(fmt::format("resumed at epoch {}, step {}, sample {}{}{}", position_.epoch + 1, position_.step,
                        position_.samples, rate, best));
}

}  // namespace dptrain::train
