#include "train/fault_recorder.h"

#include <filesystem>
#include <memory>
#include <new>
#include <optional>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "session/session.h"
#include "train/fault.h"

namespace dptrain::train {

void FaultRecorder::record_fault(const std::string& what, const BadStep* step) try {
  const std::string folder = run_.directory.file("fault");
  const Position& position = run_.position;
  const std::shared_ptr<const graph::Model> model = checkpoints_.snapshot();
  std::optional<Fault> fault = examine(*model, what);
  if (!fault && step != nullptr) {
    const runtime::StepInputs in{position.iterations(), run_.learning_rate(), step->batch.rows()};
    fault = examine(run_.session, step->batch, in, position.epoch, step->loss, what);  // all processes call this
    if (!run_.directory.is_here()) return;
    std::filesystem::create_directories(folder);
    formats::save_checkpoint((std::filesystem::path(folder) / kFaultState).string(), *model, checkpoints_.compiled(),
                             checkpoints_.state());
  }
  if (!fault || !run_.directory.is_here()) return;
  write_fault(folder, *fault);
  log::warn(fmt::format("{}; dptrain replay {} repeats that step", describe(*fault), folder));
} catch (const std::exception& error) {
  log::warn(fmt::format("cannot record the fault: {}", error.what()));
}

void FaultRecorder::record_failure(const std::exception& error) noexcept try {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return;
  const auto* known = dynamic_cast<const Error*>(&error);
  Fault fault{.what = error.what(), .error = known != nullptr ? known->kind() : ErrorKind::kInternal};
  if (!is_replayable(*fault.error) || run_.world.processes > 1) return;  // another process may be the cause
  fault.step = run_.position.step + 1;
  fault.epoch = run_.position.epoch + 1;
  fault.last_step = run_.position.step + static_cast<std::int64_t>(ahead_.size()) + 1;
  fault.devices = run_.session.devices();
  if (!ahead_.empty()) fault.samples = samples_of(run_.session, ahead_.oldest());
  checkpoints_.drain();
  const std::string folder = run_.directory.file("fault");
  save_fault(folder, fault, run_.directory.checkpoint("last.h5"));
  run_.progress.clear();
  log::warn(fmt::format("dptrain replay {} continues from the last checkpoint up to the error", folder));
} catch (const std::exception& other) {
  log::warn(fmt::format("cannot record the fault: {}", other.what()));
}

}  // namespace dptrain::train
