#include "runtime/step_recorder.h"

#include "core/format.h"
#include "core/log.h"

namespace dptrain::runtime {

backend::Recording* StepRecorder::recording(std::size_t host_index, const std::function<void()>& work) {
  std::unique_ptr<backend::Recording>& recording = recordings_[host_index];
  if (recording) return recording.get();
  beat("waiting for the other replicas to record a step");
  if (sink_ != nullptr) sink_->begin_recording(stream_);
  const std::optional<Error> why = record(recording, work);
  const bool recorded = recording != nullptr;
  beat("waiting for the other replicas after recording a step");
  const std::optional<int> without = sink_ != nullptr ? sink_->end_recording(recorded, stream_)
                                     : recorded       ? std::nullopt
                                                      : std::optional(options_.rank);
  if (!without) return recording.get();
  if (why && *without == options_.rank)
    log::warn(fmt::format("{}: a step cannot be recorded ({}); its kernels are launched one by one{}", device_.name(),
                          why->what(), options_.replicas > 1 ? ", by all replicas" : ""));
  able_ = false;
  if (sink_ != nullptr) drop();
  return nullptr;
}

std::optional<Error> StepRecorder::record(std::unique_ptr<backend::Recording>& recording,
                                          const std::function<void()>& work) try {
  beat("recording a step");
  recording = device_.record(stream_, work);
  if (!recording && options_.graphs == backend::Graphs::kOn)
    throw Error(ErrorKind::kDevice,
                fmt::format("{} cannot record steps; use runtime.cuda_graphs: auto", device_.name()));
  return std::nullopt;
} catch (const Error& error) {
  if (options_.graphs == backend::Graphs::kOn || error.kind() == ErrorKind::kDeadline) throw;
  return error;
}

void StepRecorder::beat(const char* what) const {
  if (options_.heartbeat != nullptr) options_.heartbeat->beat(what);
}

void StepRecorder::drop() {
  for (auto& recording : recordings_) recording.reset();
}

}  // namespace dptrain::runtime
