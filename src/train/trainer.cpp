#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "core/trace.h"
#include "formats/checkpoint/weights.h"
#include "session/evaluation.h"
#include "session/session.h"
#include "session/shared_file.h"
#include "train/signals.h"

namespace dptrain::train {
namespace {

/// Control requests of a process. All processes receive them with the sums of a step and act after the same step.
enum ControlRequest : std::uint32_t {
  kStopForInterrupt = 1,
  kStopForTerminate = 2,
  kStopForTime = 4,
  kSave = 8,  ///< SIGHUP, or last.h5 is old
  kStatus = 16,
};

}  // namespace

Trainer::Trainer(session::Session& session, const RunDirectory& directory, const FitOptions& options)
    : session_(session),
      goal_(experiment::Goal::of(session.experiment().config.train, options.epochs, options.steps)),
      run_(session, directory, options.progress),
      ahead_(session.replicas()),
      checkpoints_(run_, [this](const std::string& what) { not_finite(what, nullptr); }),
      log_(run_),
      control_(run_, checkpoints_),
      epochs_(run_, checkpoints_, log_, control_, [this] { return handle_signals(), !run_.is_stopping(); }),
      faults_(run_, checkpoints_, ahead_),
      nonfinite_(session.experiment().config.train.on_nonfinite),
      trace_(options.traced, directory, session.processes()) {
  session_.replicas().set_request_source([this] { return local_requests(); });
  session_.on_bad_sample([this](const data::BadSample& bad) { run_.sinks->bad_sample(bad); });
}

Trainer::~Trainer() {
  session_.on_bad_sample({});
  session_.replicas().set_fatal_error_handler({});
  session_.replicas().set_request_source({});
}

FitResult Trainer::fit() try {
  const Training training;
  begin();
  while (!finished()) {
    epochs_.begin(epochs_text());
    train_epoch();
    const bool whole = !run_.failed() && run_.position.samples == session_.train_loader().samples();
    if (whole && epochs_.end())
      session_.train_loader().next_epoch();
    else if (!whole && finished())
      checkpoints_.is_usable();
    if (run_.rolls_back) roll_back();
  }
  return finish();
} catch (const std::exception& error) {
  faults_.record_failure(error);
  throw;
}

void Trainer::begin() {
  started_ = now_seconds();
  session_.replicas().set_fatal_error_handler([this](const Error& why) { faults_.record_failure(why); });
  for (const auto& callback : run_.callbacks) callback->train_begin(control_, resumed_);
  if (resumed_ && finished())
    log::info(fmt::format("nothing to do: the run has trained {} and {}; pass {} to train further",
                          counted(run_.position.epoch, "epoch"), counted(run_.position.step, "step"),
                          goal_.epochs ? fmt::format("--epochs {} or more", run_.position.epoch + 1)
                                       : fmt::format("--steps {} or more", run_.position.step + 1)));
  // A rollback needs the file. An unwritable path fails now rather than after an epoch.
  if (!resumed_ || !control_.has_checkpoint("last.h5")) checkpoints_.save_last();
  if (session_.caches_prefix() && !finished()) compute_features();
  session_.train_loader().seek(run_.position.epoch, run_.position.samples);
}

/// Computes the features of the frozen prefix from the initial weights.
void Trainer::compute_features() {
  const Stopwatch watch;
  const std::int64_t all = session_.prefix_samples();
  const bool whole = session_.compute_features([&](std::int64_t done) {
    run_.progress.draw({.done = done,
                        .total = all,
                        .seconds = watch.seconds(),
                        .unit = BarState::Unit::kSamples,
                        .values = " - features"});
    handle_signals();
    return !run_.is_stopping();
  });
  const double seconds = watch.seconds();
  epochs_.add_seconds(seconds);
  if (!whole) return;
  log::info(fmt::format("features of {} in {}, {}; from here on only the rest of the network runs",
                        counted(all, "sample"), duration_text(seconds),
                        speed_text(static_cast<double>(all) / seconds)));
  run_.sinks->event("features", {{"samples", all}, {"seconds", seconds}});
}

/// Trains to the end of the epoch, or until the run ends or rolls back; the devices have then caught up.
void Trainer::train_epoch() {
  data::Loader& loader = session_.train_loader();
  log_.restart();
  epochs_.validate_if_due();  // if the run was resumed at a validation
  while (queued_samples() < loader.samples() && !finished() && !run_.rolls_back) {
    trace_.before(queued_steps() + 1);
    data::Batch batch = loader.next();
    if (batch.rows() == 0) {  // the last samples could not be read
      catch_up();
      if (!run_.failed()) run_.position.samples = loader.samples();
      break;
    }
    train_step(std::move(batch));
    if (ahead_.empty()) trace_.after(run_.position.step);
    if (ahead_.empty()) epochs_.validate_if_due();
    handle_signals();
  }
  catch_up();
}

/// Asynchronous devices are kept some steps ahead of the collected step, so that they never wait for the host.
void Trainer::train_step(data::Batch batch) {
  const Stopwatch watch;
  const std::int64_t number = queued_steps();
  const runtime::StepInputs inputs{run_.position.earlier_steps + number, run_.rate_of(number), batch.rows()};
  const double waited = batch.waited();
  ahead_.step(std::make_shared<const data::Batch>(std::move(batch)), inputs);
  const double seconds = watch.seconds();
  run_.position.epoch_seconds += seconds + waited;
  log_.add_queued(waited, seconds, session_.replicas().times().comm_exposed);
  if (must_stop_at(number + 1)) return catch_up();
  while (ahead_.is_due()) collect_step();
}

bool Trainer::must_stop_at(std::int64_t step) {
  bool must = epochs_.validates_after(step) || trace_.ends_with(step);
  for (const auto& callback : run_.callbacks) must = callback->stops_at(control_, step) || must;
  return must;
}

std::int64_t Trainer::queued_steps() const { return run_.position.step + static_cast<std::int64_t>(ahead_.size()); }

std::int64_t Trainer::queued_samples() const { return ahead_.empty() ? run_.position.samples : ahead_.newest().end(); }

void Trainer::collect_step() {
  const Stopwatch watch;
  const auto [sums, batch] = ahead_.collect();
  const double seconds = watch.seconds();
  run_.position.epoch_seconds += seconds;
  log_.add_collected(seconds);
  if (run_.failed()) return;  // the devices skipped it too, or it was queued after the loss became NaN
  after_step(sums, *batch);
}

/// Collects all queued steps, so that the devices are at Run::position.
void Trainer::catch_up() {
  while (!ahead_.empty()) collect_step();
}

void Trainer::log_new_shares() {
  const std::optional<runtime::NewShares> shares = session_.replicas().take_new_shares();
  if (!shares) return;
  std::vector<std::string> times;
  for (const double milliseconds : shares->milliseconds) times.push_back(fmt::format("{:.2f}", milliseconds));
  log::debug(
      fmt::format("split: {} from now on; the replicas took {} ms", runtime::text_of(*shares), join(times, " + ")));
  run_.sinks->event("split", {{"step", run_.position.step}, {"rows", shares->rows}, {"ms", shares->milliseconds}});
}

void Trainer::after_step(const runtime::StepSums& sums, const data::Batch& batch) {
  Position& position = run_.position;
  log_new_shares();
  const double rows = static_cast<double>(sums.samples);
  const double loss = sums.loss / rows + sums.penalty;
  const BadStep bad{batch, loss};
  if (!std::isfinite(loss)) {
    const std::string value = std::isnan(loss) ? "nan" : fmt::format("{}", loss);  // the sign of NaN is meaningless
    return not_finite(fmt::format("the loss of step {} is {}", position.step + 1, value), &bad);
  }
  if (sums.update_skipped)
    return not_finite(fmt::format("gradients of step {} are not finite, its loss is {:.6g}", position.step + 1, loss),
                      &bad);
  position.sums.loss += sums.loss + sums.penalty * rows;
  position.sums.samples += sums.samples;
  for (std::size_t i = 0; i < sums.outputs.size(); ++i) position.sums.outputs[i] += sums.outputs[i];
  count(batch);
  checkpoints_.drop_snapshot();
  log_.add_sums(sums.loss + sums.penalty * rows, sums.samples);

  const StepReport report{position.step, position.epoch, log_.batch(),
                          loss,          run_.logs(),    run_.rate_of(position.step - 1)};
  {
    const trace::Span span("trainer", "callbacks");
    for (const auto& callback : run_.callbacks) callback->step_end(control_, report);
  }
  if (log_.due()) log_.write();
  if (run_.progress.visible())
    run_.progress.draw({.done = report.batch,
                        .total = session_.steps_per_epoch(),
                        .seconds = position.epoch_seconds,
                        .run_left = seconds_left(),
                        .unit = BarState::Unit::kSteps,
                        .learning_rate = report.learning_rate,
                        .values = values_text(report.logs.items())});
}

/// Epochs of the whole run; remaining steps count with the current batch size.
double Trainer::epochs_in_all() const {
  if (goal_.epochs) return static_cast<double>(*goal_.epochs);
  const Position& position = run_.position;
  const double batches = position.batches(session_) + static_cast<double>(*goal_.steps - position.step);
  return batches / static_cast<double>(session_.steps_per_epoch());
}

/// Remaining seconds at the run's speed so far; none in the last epoch.
std::optional<double> Trainer::seconds_left() const {
  const Position& position = run_.position;
  const double epochs = epochs_in_all();
  const double done = position.batches(session_) / static_cast<double>(session_.steps_per_epoch());
  if (epochs - static_cast<double>(position.epoch) <= 1 || done <= 0) return std::nullopt;
  const double spent = position.seconds + position.epoch_seconds + position.validation_seconds;
  return spent / done * (epochs - done);
}

void Trainer::count(const data::Batch& batch) {
  run_.position.samples = batch.end();
  ++run_.position.step;
}

/// Copies the counts to the position, which checkpoints contain.
void Trainer::copy_counts() {
  run_.position.skipped_steps = nonfinite_.skipped_steps();
  run_.position.rollbacks = nonfinite_.rollbacks();
}

/// `step`: the skipped step; null if weights are not finite, which cannot be repaired in place.
void Trainer::not_finite(const std::string& what, const BadStep* step) {
  const Reaction reaction = nonfinite_.react(step != nullptr);
  copy_counts();
  constexpr const char* kDoes[] = {"stopping", "skipping its update", "restoring last.h5"};
  log::warn(fmt::format("{}: {}", what, kDoes[static_cast<int>(reaction)]));
  run_.sinks->event("nonfinite", {{"what", what}, {"step", run_.position.step}});
  if (reaction == Reaction::kStop) run_.stop_reason = kDiverged, diverged_ = what;
  if (reaction == Reaction::kRollBack) run_.rolls_back = true;
  const bool skips = reaction == Reaction::kSkip;
  const bool devices_stopped = !skips && session_.plan().compute != DType::kF16;
  const bool before_the_step =
      devices_stopped || ahead_.empty();  // true if the devices still have the weights from before the failed step
  if (!skips) catch_up();
  if (before_the_step) faults_.record_fault(what, step);
  if (skips) count(step->batch);
}

void Trainer::roll_back() {
  checkpoints_.drain();
  const session::SharedFile last(session_.processes(), run_.directory.checkpoint("last.h5"));
  const std::string& file = last.path();
  const double factor = run_.position.rate_factor * nonfinite_.factor();
  graph::Model model = session_.model();
  formats::load_weights(file, model);
  session_.replicas().push(model);
  session_.replicas().push_loss_scale({});
  resume(formats::read_state(file));
  run_.position.rate_factor = factor;
  checkpoints_.drop_snapshot();
  run_.rolls_back = false;
  checkpoints_.save_last();  // with the smaller rate and the rollback count, so that a restarted run keeps them
  log::info(fmt::format("learning rate {:.3e} from here on", run_.learning_rate()));
  session_.train_loader().seek(run_.position.epoch, run_.position.samples);
}

bool Trainer::finished() const { return run_.is_stopping() || goal_.reached(run_.position.epoch, queued_steps()); }

std::string Trainer::epochs_text() const { return fmt::format("/{:.0f}", std::ceil(epochs_in_all())); }

std::uint32_t Trainer::local_requests() const {
  std::uint32_t own = 0;
  const bool rolls = run_.world.is_first() && checkpoints_.is_last_old();
  if (Signals::consume_save_request() || rolls) own |= kSave;
  if (Signals::consume_status_request()) own |= kStatus;
  if (const int signal = Signals::stop_signal(); signal != 0)
    own |= signal == SIGINT ? kStopForInterrupt : kStopForTerminate;
  const auto& limit = session_.experiment().config.train.max_time;
  if (limit && now_seconds() - started_ >= limit->value) own |= kStopForTime;
  return own;
}

/// Requests of all processes; for a single process, without waiting for a step.
std::uint32_t Trainer::control_requests() {
  const std::uint32_t agreed = session_.replicas().take_control_requests();
  return run_.world.processes == 1 ? agreed | local_requests() : agreed;
}

void Trainer::handle_signals() {
  const Position& position = run_.position;
  std::uint32_t wanted = control_requests();
  if ((wanted & kSave) != 0) {
    catch_up();
    wanted |= control_requests();
    checkpoints_.save_last();
  }
  if ((wanted & kStatus) != 0)
    log::info(fmt::format("status: epoch {} step {} sample {}{}", position.epoch + 1, position.step, position.samples,
                          values_text(run_.logs().items())));
  if ((wanted & (kStopForInterrupt | kStopForTerminate)) != 0 && signal_ == 0) {
    signal_ = (wanted & kStopForInterrupt) != 0 ? SIGINT : SIGTERM;
    catch_up();
    log::info(
        fmt::format("{}: saving and stopping after step {}", signal_ == SIGINT ? "SIGINT" : "SIGTERM", position.step));
    run_.stop("signal");
  }
  if ((wanted & kStopForTime) != 0) run_.stop("max_time");
}

FitResult Trainer::finish() {
  trace_.finish(run_.position.step);
  const bool good = checkpoints_.is_usable();
  epochs_.end_early();
  run_.progress.clear();
  std::optional<Error> failed;
  if (good) {
    checkpoints_.save_last();
    for (const auto& callback : run_.callbacks) callback->train_end(control_);
    failed = checkpoints_.export_model();
  }
  if (const std::optional<Error> save = checkpoints_.drain()) failed = save;
  bool all_lines = run_.sinks->flush();
  for (const auto& callback : run_.callbacks) all_lines = callback->flush() && all_lines;
  if (!all_lines && !failed)
    failed = Error(ErrorKind::kWrite, fmt::format("{}: lines are lost", run_.directory.path()));

  FitResult result;
  result.exit = run_.is_stopping() ? run_.stop_reason : "completed";
  result.final = run_.position.last_logs;
  result.reason = diverged_;
  result.skipped_steps = nonfinite_.skipped_steps();
  result.rollbacks = nonfinite_.rollbacks();
  if (result.exit == "signal") result.exit_code = 128 + signal_;
  if (result.exit == kDiverged) result.exit_code = static_cast<int>(ErrorKind::kDiverged);
  if (failed && result.exit_code == 0) result.exit_code = failed->exit_code();
  ended_ = end_report(result);
  run_.sinks->end(ended_);
  return result;
}

EndReport Trainer::end_report(const FitResult& result) const {
  const Position& position = run_.position;
  const double seconds = position.seconds + position.epoch_seconds + position.validation_seconds;
  const double samples = static_cast<double>(position.epoch) * static_cast<double>(session_.train_loader().samples()) +
                         static_cast<double>(position.samples);
  return {.result = result,
          .epochs = position.epoch,
          .steps = position.step,
          .seconds = seconds,
          .examples_per_second = samples / std::max(seconds, 1e-9),
          .best = run_.best,
          .logged = run_.logged,
          .saves = checkpoints_.saves(),
          .save_stall_seconds = checkpoints_.stall_seconds()};
}

void Trainer::begin_with(const formats::OptimizerState& state) {
  train::begin_with(state, session_);
  run_.position.earlier_steps = state.iterations;
  run_.position.earlier_epochs =
      static_cast<double>(state.iterations) / static_cast<double>(session_.steps_per_epoch());
  log::info(fmt::format("the optimizer continues after {} steps", with_commas(state.iterations)));
}

void Trainer::resume(const formats::CheckpointState& state) {
  run_.position = restore_state(state, session_, run_.callbacks, run_.best);
  nonfinite_.restore(run_.position.skipped_steps, run_.position.rollbacks);
  copy_counts();
  const Position& position = run_.position;
  resumed_ = true;
  run_.sinks->cut(position.epoch, position.step);
  std::string best;
  for (const char* name : {"val_accuracy", "val_loss"})
    if (best.empty() && run_.best.contains(name))
      best = fmt::format("; best {} {} (epoch {})", name, metric_text(run_.best[name].first), run_.best[name].second);
  const bool other_rate =
      position.learning_rate || position.rate_factor != 1;  // differs from the config's, which the header shows
  const std::string rate = other_rate ? fmt::format("; learning rate {:.3e}", run_.learning_rate()) : "";
  log::info(fmt::format("resumed at epoch {}, step {}, sample {}{}{}", position.epoch + 1, position.step,
                        position.samples, rate, best));
}

}  // namespace dptrain::train
