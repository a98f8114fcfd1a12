#pragma once

// Where backward hands its gradients over. Implemented by reduce/; with one replica it is an object that does nothing,
// not an `if`. Called from the replica's thread, or from another while that one has nothing to do; once per optimizer
// step in this order: begin, bucket_ready(0), (1), ..., finish, end. Before a step's end the next ones may have begun.
//
// Where the sink records(), what it queues may become a part of a recording: begin_recording, then while the device
// records bucket_ready(0), ..., finish, then end_recording. A step that is a replay of it is begin, replay, end. All
// ranks record and replay in the same steps, the same calls, gathers of the sink's Collective included, or none does.

#include <cstdint>
#include <optional>

#include "backend/stream.h"

namespace dptrain::replica {

class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// `loads`: as StepInputs::loads.
  virtual void begin(std::int64_t step, bool loads) = 0;
  /// All gradients of the bucket have been written (queued) on the compute stream.
  virtual void bucket_ready(int bucket, backend::Stream& compute) = 0;
  /// The compute stream may go on only when every bucket holds the sum over all replicas.
  virtual void finish(backend::Stream& compute) = 0;
  /// The device has done a step. `idle`: it has no other one queued, and nobody waits for others until the next
  /// begin().
  virtual void end(bool idle) { static_cast<void>(idle); }

  virtual bool records() const { return false; }
  /// Waits until all ranks have come here and nothing is left on their streams. Throws as begin() does.
  virtual void begin_recording(backend::Stream& compute) { static_cast<void>(compute); }
  /// `recorded`: this rank has its recording; what is queued makes it ready to be launched. Waits for all ranks
  /// likewise. The first rank that has none: then nobody replays, now or later; nothing: all have.
  virtual std::optional<int> end_recording(bool recorded, backend::Stream& compute) {
    static_cast<void>(compute);
    return recorded ? std::nullopt : std::optional<int>(0);
  }
  /// In the place of bucket_ready() and finish(): the recording is launched next. Counts as the calls that it holds.
  virtual void replay() {}
};

/// One replica: nothing to reduce.
class NoReduction final : public GradientSink {
 public:
  void begin(std::int64_t, bool) override {}
  void bucket_ready(int, backend::Stream&) override {}
  void finish(backend::Stream&) override {}
};

}  // namespace dptrain::replica
