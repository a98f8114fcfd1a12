#pragma once

// StepRecorder: records whole steps of a replica, so that each is one launch (CUDA graphs). The number of rows and
// samples, the set of buffers and the HostBuffers are fixed in a recording, so each HostBuffers has a recording. With
// several replicas all record in the same step; if one cannot, none does. Owned by a Replica, used on its thread.

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "backend/device.h"
#include "core/error.h"
#include "runtime/replica.h"

namespace dptrain::runtime {

class StepRecorder {
 public:
  /// `sink`: reduces the gradients in a recording; null: no reduction. All references must outlive this object.
  StepRecorder(backend::Device& device, backend::Stream& stream, const ReplicaOptions& options, GradientSink* sink)
      : device_(device), stream_(stream), options_(options), sink_(sink) {}

  /// Whether to record or replay the step; called once for each step that could be recorded.
  bool should_record() { return able_ && ++steps_ > kEagerSteps; }
  /// Returns the recording for these HostBuffers; the first call records `work`. Null: the device cannot record, or
  /// recording failed on some replica and is not required. This and all later steps then launch single kernels.
  backend::Recording* recording(std::size_t host_index, const std::function<void()>& work);
  /// Destroys the recordings. No launch of them may still be running.
  void drop();

 private:
  /// Steps before the first recording: by then all kernels are loaded and all algorithms chosen.
  static constexpr int kEagerSteps = 3;

  /// Records `work`. Returns the error of a recording that failed; empty on success or without support of the device.
  std::optional<Error> record(std::unique_ptr<backend::Recording>& recording, const std::function<void()>& work);

  void beat(const char* what) const;

  backend::Device& device_;
  backend::Stream& stream_;
  const ReplicaOptions& options_;
  GradientSink* const sink_;
  int steps_ = 0;  ///< steps that could have been replayed
  bool able_ = true;
  std::array<std::unique_ptr<backend::Recording>, Replica::kHostBuffers> recordings_;
};

}  // namespace dptrain::runtime
