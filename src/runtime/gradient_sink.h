#pragma once

// GradientSink: receives the gradients of backward. The distributed module implements it; with one replica, NoReduction
// does nothing. Called from the replica's thread, or from another thread while that one is idle. Calls of an optimizer
// step in order: begin, bucket_ready(0), (1), ..., finish, end. Later steps may begin before a step's end().
//
// If records() is true, the work of the sink may become part of a recording. Calls in order: begin_recording; then,
// while the device records, bucket_ready(0), ..., finish; then end_recording. A step that replays the recording calls
// begin, replay, end. Either all ranks record and replay the same calls in the same steps, or none does. This includes
// gathers of the sink's Collective.

#include <cstdint>
#include <optional>

#include "backend/stream.h"

namespace dptrain::runtime {

class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// `may_load_kernels`: as StepInputs::may_load_kernels.
  virtual void begin(std::int64_t step, bool may_load_kernels) = 0;
  /// All work that writes gradients of the bucket has been queued on the compute stream.
  virtual void bucket_ready(int bucket, backend::Stream& compute) = 0;
  /// Makes the compute stream wait until every bucket holds the sum over all replicas.
  virtual void finish(backend::Stream& compute) = 0;
  /// The device has finished a step. `idle`: no other step is queued, and no thread waits for other ranks until the
  /// next begin().
  virtual void end(bool idle) { static_cast<void>(idle); }

  virtual bool records() const { return false; }
  /// Waits until all ranks have called this and their streams are empty. Throws as begin() does.
  virtual void begin_recording(backend::Stream& compute) { static_cast<void>(compute); }
  /// `recorded`: whether this rank has its recording; work queued on `compute` prepares it for launch. Waits for all
  /// ranks. Returns the first rank without a recording: then no rank replays, now or later. Empty: all ranks have one.
  virtual std::optional<int> end_recording(bool recorded, backend::Stream& compute) {
    static_cast<void>(compute);
    return recorded ? std::nullopt : std::optional<int>(0);
  }
  /// Replaces bucket_ready() and finish() before the recording is launched. Counts as the calls that were recorded.
  virtual void replay() {}
};

/// One replica: nothing to reduce.
class NoReduction final : public GradientSink {
 public:
  void begin(std::int64_t, bool) override {}
  void bucket_ready(int, backend::Stream&) override {}
  void finish(backend::Stream&) override {}
};

}  // namespace dptrain::runtime
