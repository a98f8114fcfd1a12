#pragma once

// A queue of device work. On the CPU calls run at once and a Stream has nothing in it; on a GPU it is a CUDA stream.
// Always an explicit argument. Belongs to one thread.

#include <functional>

namespace dptrain::backend {

class Event;

class Stream {
 public:
  virtual ~Stream() = default;
  /// Waits until everything queued has run; while it waits, the stream's watcher is called again and again. Throws what
  /// queued work failed with, or what the watcher throws.
  virtual void synchronize() {}
  /// The same until the event has been passed, whatever is queued behind it.
  virtual void wait_for(Event& event) { static_cast<void>(event); }
  /// Looks after something that can keep the stream from ever ending (a collective whose other ranks have died): called
  /// every now and then by synchronize(), and throws to give up.
  virtual void set_watcher(std::function<void()> watcher) { static_cast<void>(watcher); }
  /// cudaStream_t for libraries that want one; null on the CPU.
  virtual void* native() const { return nullptr; }
};

}  // namespace dptrain::backend
