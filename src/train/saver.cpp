#include "train/saver.h"

#include <filesystem>
#include <utility>

#include "core/activity.h"
#include "core/atomic_file.h"
#include "core/clock.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "export/exporter.h"

namespace dptrain::train {
namespace {

void report(const checkpoint::Saved& saved) {
  if (saved.error)
    log::warn(fmt::format("{}; training goes on, the next save tries again", saved.error->what()));
  else
    log::debug(fmt::format("saved {} {} {:.0f} ms", std::filesystem::path(saved.path).filename().string(),
                           human_bytes(saved.bytes), saved.seconds * 1e3));
}

}  // namespace

Saver::Saver(const RunDirectory& run)
    : run_(run), writer_([this](const checkpoint::Saved& saved) {
        report(saved);
        const std::lock_guard lock(mutex_);
        if (saved.error)
          failed_.insert(saved.path);
        else
          failed_.erase(saved.path);
      }) {}

void Saver::submit(const std::vector<std::string>& names, const std::function<checkpoint::Job()>& job) {
  if (!run_.is_here()) return;
  const Stopwatch stall;  // the copy, and waiting for the writer when saves come faster than the disk
  checkpoint::Job made = job();
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

std::optional<Error> Saver::export_model(const exporting::Exported& exported) {
  if (!run_.is_here()) return std::nullopt;
  try {
    const Activity activity("writing model.h5");
    const std::string path = run_.file("model.h5");
    const exporting::Exporter& exporter = exporting::exporter_of(path);
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

}  // namespace dptrain::train
