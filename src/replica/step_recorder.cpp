#include "replica/step_recorder.h"

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace dptrain::replica {

device::Recording* StepRecorder::recording(std::size_t post, const std::function<void()>& work) {
  std::unique_ptr<device::Recording>& recording = recordings_[post];
  if (!recording) recording = record(work);
  able_ = recording != nullptr;
  return recording.get();
}

std::unique_ptr<device::Recording> StepRecorder::record(const std::function<void()>& work) try {
  if (options_.heart != nullptr) options_.heart->beat("recording a step");
  auto recording = device_.record(stream_, work);
  if (!recording && options_.graphs == Graphs::kOn)
    throw Error(ErrorKind::kDevice,
                fmt::format("{} cannot record steps; use runtime.cuda_graphs: auto", device_.name()));
  return recording;
} catch (const Error& error) {
  if (options_.graphs == Graphs::kOn) throw;
  log::warn(fmt::format("{}: a step cannot be recorded ({}); steps are launched piece by piece", device_.name(),
                        error.what()));
  return nullptr;
}

}  // namespace dptrain::replica
