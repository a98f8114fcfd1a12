#pragma once

// StepRecorder: whole steps of a replica, recorded so that each is one launch (CUDA graphs). A recording has the rows,
// the sample count, the staged set and the post built in, so there is one for each post. With several replicas all
// record in the same step, and where one cannot, none does. Owned by a Replica, used on its thread.

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "backend/device.h"
#include "core/error.h"
#include "replica/replica.h"

namespace dptrain::replica {

class StepRecorder {
 public:
  /// `sink`: what a recording's sums go through; null: there are none. All outlive this.
  StepRecorder(backend::Device& device, backend::Stream& stream, const Options& options, GradientSink* sink)
      : device_(device), stream_(stream), options_(options), sink_(sink) {}

  /// Whether a step that could be a recording is to be one; counts it.
  bool wants() { return able_ && ++steps_ > kEagerSteps; }
  /// The post's, made of what `work` queues where there is none yet. Null: this step and those that come are launched
  /// piece by piece, because the device has no recordings, or the step cannot be recorded and the user leaves it to us.
  backend::Recording* recording(std::size_t post, const std::function<void()>& work);
  /// Gives the recordings back; nothing that was launched still runs.
  void drop();

 private:
  /// The step before it is worth recording: everything is loaded, chosen and warm by then.
  static constexpr int kEagerSteps = 3;

  /// Why there is none, if there is something to say.
  std::optional<Error> record(std::unique_ptr<backend::Recording>& recording, const std::function<void()>& work);

  void beat(const char* what) const;

  backend::Device& device_;
  backend::Stream& stream_;
  const Options& options_;
  GradientSink* const sink_;
  int steps_ = 0;  ///< that could have been replayed
  bool able_ = true;
  std::array<std::unique_ptr<backend::Recording>, Replica::kPosts> recordings_;
};

}  // namespace dptrain::replica
