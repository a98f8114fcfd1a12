#include "train/keeper.h"

#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/activity.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "core/trace.h"
#include "formats/exporter.h"
#include "nn/optimizer.h"
#include "session/session.h"
#include "train/nonfinite_account.h"
#include "train/saved_state.h"

namespace dptrain::train {
namespace {

void report(const formats::WrittenFile& saved) {
  if (saved.error)
    log::warn(fmt::format("{}; training goes on, the next save tries again", saved.error->what()));
  else
    log::debug(fmt::format("saved {} {} {:.0f} ms", std::filesystem::path(saved.path).filename().string(),
                           human_bytes(saved.bytes), saved.seconds * 1e3));
}

}  // namespace

Saver::Saver(const RunDirectory& run)
    : run_(run), writer_([this](const formats::WrittenFile& saved) {
        report(saved);
        const std::lock_guard lock(mutex_);
        if (saved.error)
          failed_.insert(saved.path);
        else
          failed_.erase(saved.path);
      }) {}

void Saver::submit(const std::vector<std::string>& names, const std::function<formats::WriteJob()>& job) {
  if (!run_.is_here()) return;
  const Stopwatch stall;  // the copy, and waiting for the writer when saves come faster than the disk
  formats::WriteJob made = job();
  for (const std::string& name : names) {
    made.paths.push_back(run_.checkpoint(name));
    create_folders(std::filesystem::path(made.paths.back()).parent_path().string());  // if it fails, the save fails
  }
  writer_.submit(std::move(made));
  ++saves_;
  stall_ += stall.seconds();
}

bool Saver::is_saved(const std::string& name) {
  writer_.drain();
  const std::lock_guard lock(mutex_);
  return !failed_.contains(run_.checkpoint(name));
}

void Saver::remove(const std::string& name, const std::string& successor) {
  if (!run_.is_here() || !is_saved(successor)) return;
  std::error_code ignored;
  std::filesystem::remove(run_.checkpoint(name), ignored);
}

std::optional<Error> Saver::export_model(const formats::Exported& exported) {
  if (!run_.is_here()) return std::nullopt;
  try {
    const Activity activity("writing model.h5");
    const std::string path = run_.file("model.h5");
    const formats::Exporter& exporter = formats::exporter_of(path);
    exporter.write(path, exported);
    for (const std::string& advice : exporter.advice(path, exported.model.graph)) log::info(advice);
    return std::nullopt;
  } catch (const Error& error) {
    log::warn(error.what());
    return error;
  }
}

std::optional<Error> Saver::drain() {
  const Activity activity("writing the checkpoint");
  writer_.drain();
  return writer_.last_error();
}

void Saver::catch_up() {
  holds_back_ = false;
  for (const auto& action : std::exchange(held_back_, {})) action();
}

void Saver::now_or_later(std::function<void()> action) {
  if (holds_back_)
    held_back_.push_back(std::move(action));
  else
    action();
}

namespace {

constexpr double kLastEverySeconds = 600;  // a rolling last.h5 every ten minutes

}  // namespace

Keeper::Keeper(Run& run, std::function<void(const std::string&)> not_finite)
    : run_(run), not_finite_(std::move(not_finite)), saver_(run.directory), last_save_(now_seconds()) {}

std::shared_ptr<const graph::Model> Keeper::snapshot() {
  if (!snapshot_) {
    auto model = std::make_shared<graph::Model>(run_.session.model());
    run_.session.replicas().pull(*model);
    snapshot_is_finite_ = all_finite(*model);
    snapshot_ = std::move(model);
  }
  return snapshot_;
}

bool Keeper::may_keep() {
  if (run_.failed()) return false;
  snapshot();
  if (!snapshot_is_finite_) not_finite_(fmt::format("weights after step {} are not finite", run_.position.step));
  return snapshot_is_finite_;
}

formats::CheckpointState Keeper::state() { return make_state(run_.session, run_.position, run_.callbacks, run_.best); }

void Keeper::submit(const std::string& name, bool private_state) {
  const trace::Span span("save", "snapshot for", &name);
  saver_.submit({name}, [&] {
    formats::WriteJob job;
    job.model = snapshot();
    job.state = std::make_shared<const formats::CheckpointState>(state());
    job.compiled = compiled();
    job.private_state = private_state;
    return job;
  });
}

void Keeper::save_last() {
  if (!may_keep()) return;
  submit("last.h5", true);
  last_save_ = now_seconds();
}

bool Keeper::last_is_old() const { return now_seconds() - last_save_ > kLastEverySeconds; }

void Keeper::save(const std::string& name, bool weights_only, const std::string& note) {
  if (!may_keep()) return;
  saver_.now_or_later([this, name, weights_only] { submit(name, !weights_only); });
  log::info(fmt::format("saving checkpoints/{}{}{}", name, note.empty() ? "" : "; ", note));
  run_.sinks->event("save", {{"file", name}, {"step", run_.position.step}, {"note", note}});
}

void Keeper::remove(const std::string& name, const std::string& successor) {
  saver_.now_or_later([this, name, successor] { saver_.remove(name, successor); });
}

void Keeper::push_weights(const std::vector<std::vector<float>>& weights) {
  auto model = std::make_shared<graph::Model>(run_.session.model());
  for (std::size_t i = 0; i < weights.size(); ++i) model->weights[i].values = weights[i];
  run_.session.replicas().push(*model);
  snapshot_ = std::move(model);
  restored_ = true;
}

std::optional<Error> Keeper::export_model() {
  const session::Session& session = run_.session;
  const auto hand_on = [&](const graph::Model& model) {
    return saver_.export_model(
        {.model = model, .compiled = compiled(), .class_names = session.class_names(), .learned = session.learned()});
  };
  // Weights that EarlyStopping has restored are exported unchanged, as in Keras.
  if (restored_ || !nn::common(session.experiment().config.train.optimizer).use_ema) return hand_on(*snapshot());
  graph::Model model = *snapshot();
  use_averages(run_.session, model);
  return hand_on(model);
}

formats::Compiled Keeper::compiled() const {
  session::Session& session = run_.session;
  return train::compiled(session.experiment().config.train, session.model().graph, run_.learning_rate());
}

}  // namespace dptrain::train
