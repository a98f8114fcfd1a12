#pragma once

// Streams of device work, marks in them (Event), recordings, and gathers between replicas (Collective). On the CPU
// calls return when done and these classes have no state; on a GPU they own objects of CUDA.

#include <cstdint>
#include <functional>

namespace dptrain::backend {

class Event;

/// A queue of device work. Always an explicit argument. Belongs to one thread.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Waits until all queued work has run, and calls the watcher at intervals. Throws the error of failed work, or what
  /// the watcher throws.
  virtual void synchronize() {}
  /// As synchronize(), but only until the stream has passed the event.
  virtual void wait_for(Event& event) { static_cast<void>(event); }
  /// `watcher` throws if the stream can never finish (a collective whose other ranks have died).
  virtual void set_watcher(std::function<void()> watcher) { static_cast<void>(watcher); }
  /// The cudaStream_t, for calls of libraries; null on the CPU.
  virtual void* native() const { return nullptr; }
};

/// A mark in a stream that other streams can wait for.
class Event {
 public:
  virtual ~Event() = default;
  /// Marks the work queued on the stream so far.
  virtual void record(Stream& stream) { static_cast<void>(stream); }
  /// Work queued on the stream from now on waits for the last record(). The stream may be of another device.
  virtual void hold(Stream& stream) { static_cast<void>(stream); }
  /// Whether the work before the last record() has run; throws its error. Any thread.
  virtual bool passed() { return true; }
};

/// Recorded work of a stream.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay(Stream& stream) = 0;
};

/// Communication of ops with other replicas within a step (synchronized batch normalization), implemented by
/// distributed/. All replicas call with the same sizes in the same order. Calls block (CPU) or are queued (CUDA).
class Collective {
 public:
  virtual ~Collective() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// all[r * bytes, (r + 1) * bytes) = `mine` of rank r, for all r, on every rank.
  virtual void all_gather(const void* mine, std::int64_t bytes, void* all, Stream& stream) = 0;
};

}  // namespace dptrain::backend
