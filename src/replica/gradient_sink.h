#pragma once

// Where backward hands its gradients over. Implemented by reduce/; with one replica it is an object that does nothing,
// not an `if`. Called from the replica's thread, or from another while that one has nothing to do; once per optimizer
// step in this order: begin, bucket_ready(0), (1), ..., finish, end. Before a step's end the next ones may have begun.

#include <cstdint>

#include "device/stream.h"

namespace dptrain::replica {

class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// `loads`: as StepInputs::loads.
  virtual void begin(std::int64_t step, bool loads) = 0;
  /// All gradients of the bucket have been written (queued) on the compute stream.
  virtual void bucket_ready(int bucket, device::Stream& compute) = 0;
  /// The compute stream may go on only when every bucket holds the sum over all replicas.
  virtual void finish(device::Stream& compute) = 0;
  /// The device has done a step. `idle`: it has no other one queued, and nobody waits for others until the next
  /// begin().
  virtual void end(bool idle) { static_cast<void>(idle); }
};

/// One replica: nothing to reduce.
class NoReduction final : public GradientSink {
 public:
  void begin(std::int64_t, bool) override {}
  void bucket_ready(int, device::Stream&) override {}
  void finish(device::Stream&) override {}
};

}  // namespace dptrain::replica
