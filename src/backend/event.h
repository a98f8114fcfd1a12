#pragma once

// A mark in a stream that other streams can wait for, and a recorded piece of a stream. On the CPU, where calls run at
// once, a mark is nothing.

#include "backend/stream.h"

namespace dptrain::backend {

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

class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay(Stream& stream) = 0;
};

}  // namespace dptrain::backend
