#pragma once

// A queue of device work. On the CPU calls run at once and a Stream has nothing in it; on a GPU it is a CUDA stream.
// Always an explicit argument. Belongs to one thread.

namespace dptrain::device {

class Stream {
 public:
  virtual ~Stream() = default;
  /// Waits until everything queued has run. Never called inside a step.
  virtual void synchronize() {}
};

}  // namespace dptrain::device
