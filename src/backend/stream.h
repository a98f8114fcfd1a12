#pragma once

// A queue of device work. On the CPU calls run at once and a Stream has nothing in it; on a GPU it is a CUDA stream.
// Always an explicit argument. Belongs to one thread.

#include <functional>

namespace dptrain::backend {

class Event;

class Stream {
 public:
  virtual ~Stream() = default;
  /// Waits until everything queued has run, and calls the stream's watcher repeatedly meanwhile. Throws what queued
  /// work failed with, or what the watcher throws.
  virtual void synchronize() {}
  /// Does the same only until the stream has passed the event, regardless of work queued after it.
  virtual void wait_for(Event& event) { static_cast<void>(event); }
  /// Sets a function that synchronize() calls at intervals. It throws if the stream can never finish (a collective
  /// whose other ranks have died).
  virtual void set_watcher(std::function<void()> watcher) { static_cast<void>(watcher); }
  /// The cudaStream_t, for calls of libraries; null on the CPU.
  virtual void* native() const { return nullptr; }
};

}  // namespace dptrain::backend
