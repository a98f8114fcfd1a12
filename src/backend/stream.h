#pragma once

// Streams of device work, and what is queued on one: marks (Event), recordings, gathers between replicas (Collective).
// On the CPU calls run at once, and these objects have nothing in them; on a GPU they belong to CUDA.

#include <cstdint>
#include <functional>

namespace dptrain::backend {

class Event;

/// A queue of device work. Always an explicit argument. Belongs to one thread.
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

/// A mark in a stream that other streams can wait for.
class Event {
 public:
  virtual ~Event() = default;
  /// Marks what was queued on the stream until now.
  virtual void record(Stream& stream) { static_cast<void>(stream); }
  /// What is queued on the stream from now on runs after the mark as last recorded. The stream may be another device's.
  virtual void hold(Stream& stream) { static_cast<void>(stream); }
  /// Whether the mark as last recorded has been passed; throws what went wrong before it. Any thread.
  virtual bool passed() { return true; }
};

/// A recorded piece of a stream.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay(Stream& stream) = 0;
};

/// What an op may ask of the other replicas in the middle of a step (synchronised batch normalisation): a gather in
/// rank order. Implemented by distributed/. Every replica calls with the same sizes in the same order; blocks (CPU) or
/// queues (CUDA).
class Collective {
 public:
  virtual ~Collective() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// all[r * bytes .. ) = what rank r gave, for every rank, on every rank.
  virtual void all_gather(const void* mine, std::int64_t bytes, void* all, Stream& stream) = 0;
};

}  // namespace dptrain::backend
