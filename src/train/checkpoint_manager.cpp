#include "train/checkpoint_manager.h"

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
#include "train/nonfinite_policy.h"
#include "train/saved_state.h"

namespace dptrain::train {
namespace {

constexpr double kLastEverySeconds = 600;

void report(const formats::WrittenFile& saved) {
  if (saved.error)
    log::warn(fmt::format("{}; training continues, the next save tries again", saved.error->what()));
  else
    log::debug(fmt::format("saved {} {} {:.0f} ms", std::filesystem::path(saved.path).filename().string(),
                           human_bytes(saved.bytes), saved.seconds * 1e3));
}

}  // namespace

CheckpointManager::CheckpointManager(Run& run, std::function<void(const std::string&)> not_finite)
    : run_(run),
      not_finite_(std::move(not_finite)),
      writer_([this](const formats::WrittenFile& saved) {
        report(saved);
        const std::lock_guard lock(mutex_);
        if (saved.error)
          failed_.insert(saved.path);
        else
          failed_.erase(saved.path);
      }),
      last_save_(now_seconds()) {}

std::shared_ptr<const graph::Model> CheckpointManager::snapshot() {
  if (!snapshot_) {
    auto model = std::make_shared<graph::Model>(run_.session.model());
    run_.session.replicas().pull(*model);
    snapshot_is_finite_ = all_finite(*model);
    snapshot_ = std::move(model);
  }
  return snapshot_;
}

bool CheckpointManager::is_usable() {
  if (run_.failed()) return false;
  snapshot();
  if (!snapshot_is_finite_) not_finite_(fmt::format("weights after step {} are not finite", run_.position.step));
  return snapshot_is_finite_;
}

void CheckpointManager::submit(const std::string& name, bool private_state) {
  if (!run_.directory.is_here()) return;
  const trace::Span span("save", "snapshot for", &name);
  const Stopwatch stall;  // the copy, and the wait for the writer if saves are faster than the disk
  const std::string path = run_.directory.checkpoint(name);
  formats::WriteJob job{
      .model = snapshot(),
      .state = std::make_shared<const formats::CheckpointState>(state()),
      .compiled = compiled(),
      .paths = {path},
      .private_state = private_state,
  };
  create_folders(std::filesystem::path(path).parent_path().string());  // if it fails, the save fails
  writer_.submit(std::move(job));
  ++saves_;
  stall_seconds_ += stall.seconds();
}

void CheckpointManager::save_last() {
  if (!is_usable()) return;
  submit("last.h5", true);
  last_save_ = now_seconds();
}

bool CheckpointManager::is_last_old() const { return now_seconds() - last_save_ > kLastEverySeconds; }

void CheckpointManager::save(const std::string& name, bool weights_only, const std::string& note) {
  if (!is_usable()) return;
  run_or_defer([this, name, weights_only] { submit(name, !weights_only); });
  log::info(fmt::format("saving checkpoints/{}{}{}", name, note.empty() ? "" : "; ", note));
  run_.sinks->event("save", {{"file", name}, {"step", run_.position.step}, {"note", note}});
}

bool CheckpointManager::is_saved(const std::string& name) {
  writer_.drain();
  const std::lock_guard lock(mutex_);
  return !failed_.contains(run_.directory.checkpoint(name));
}

void CheckpointManager::remove(const std::string& name, const std::string& successor) {
  run_or_defer([this, name, successor] {
    if (!run_.directory.is_here() || !is_saved(successor)) return;
    std::error_code ignored;
    std::filesystem::remove(run_.directory.checkpoint(name), ignored);
  });
}

void CheckpointManager::push_weights(const std::vector<std::vector<float>>& weights) {
  auto model = std::make_shared<graph::Model>(run_.session.model());
  for (std::size_t i = 0; i < weights.size(); ++i) model->weights[i].values = weights[i];
  run_.session.replicas().push(*model);
  snapshot_is_finite_ = all_finite(*model);
  snapshot_ = std::move(model);
  restored_ = true;
}

std::optional<Error> CheckpointManager::export_model() {
  const session::Session& session = run_.session;
  const auto write = [&](const graph::Model& model) {
    return write_model({.model = model,
                        .compiled = compiled(),
                        .class_names = session.class_names(),
                        .fitted_state = session.fitted_state()});
  };
  // Weights that EarlyStopping has restored are exported unchanged, as in Keras.
  if (restored_ || !nn::common(session.experiment().config.train.optimizer).use_ema) return write(*snapshot());
  graph::Model model = *snapshot();
  use_averages(run_.session, model);
  return write(model);
}

std::optional<Error> CheckpointManager::write_model(const formats::Exported& exported) {
  if (!run_.directory.is_here()) return std::nullopt;
  try {
    const Activity activity("writing model.h5");
    const std::string path = run_.directory.file("model.h5");
    const formats::Exporter& exporter = formats::exporter_of(path);
    exporter.write(path, exported);
    for (const std::string& advice : exporter.advice(path, exported.model.graph)) log::info(advice);
    return std::nullopt;
  } catch (const Error& error) {
    log::warn(error.what());
    return error;
  }
}

std::optional<Error> CheckpointManager::drain() {
  const Activity activity("writing the checkpoint");
  writer_.drain();
  return writer_.last_error();
}

void CheckpointManager::run_deferred() {
  defers_ = false;
  for (const auto& action : std::exchange(deferred_, {})) action();
}

void CheckpointManager::run_or_defer(std::function<void()> action) {
  if (defers_)
    deferred_.push_back(std::move(action));
  else
    action();
}

formats::CheckpointState CheckpointManager::state() const {
  return make_state(run_.session, run_.position, run_.callbacks, run_.best);
}

formats::CompileConfig CheckpointManager::compiled() const {
  session::Session& session = run_.session;
  return train::compiled(session.experiment().config.train, session.model().graph, run_.learning_rate());
}

}  // namespace dptrain::train
