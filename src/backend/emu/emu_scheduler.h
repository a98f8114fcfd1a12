#pragma once

// The streams of all emulated GPUs of the process, and who runs what lies in them. Nothing runs by itself: a thread
// that waits for a stream picks operations at random, from whichever stream has one that may run, until the one it
// waits for is empty. So whatever order the program's events leave open is tried, over many seeds; a forgotten event
// shows as a wrong result. Operations of different streams may also run at the same time, in several waiting threads.
//
// All state here is guarded by the scheduler's mutex. Operations run without it.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "backend/emu/emu_runtime.h"
#include "core/error.h"
#include "kernels/cuda/simt.h"

namespace dptrain::backend::emu {

class Capture;

/// What all streams of one device share.
struct EmuDevice {
  int id = 0;
  std::string name;            ///< "emu:0"
  std::optional<Error> error;  ///< the first of its operations that failed; it runs nothing after it
};

/// One record of an event. Waiting operations hold it, so that recording the event again changes nothing for them.
struct Mark {
  bool passed = false;
  bool captured = false;           ///< made in a recording, at this place of it
  std::weak_ptr<Capture> capture;  ///< weak: the recording holds its marks
  std::size_t branch = 0, index = 0;
};

/// Waits for a mark and for what is none of the emulator's, then works, then passes a mark; each of them may be
/// missing.
struct Operation {
  std::string name;
  std::shared_ptr<Mark> awaits;
  std::function<void()> work;
  std::shared_ptr<Mark> passes;
  std::function<bool()> ready{};  ///< asked under the scheduler's mutex
};

/// A stream. Its address as simt::Queue is its handle.
class EmuStream final : public simt::Queue {
 public:
  explicit EmuStream(EmuDevice& device) : device_(device) {}
  /// Kernels and convolutions: the calling thread must have entered the stream's device, as CUDA demands.
  void push(std::string_view name, std::function<void()> work) override;
  EmuDevice& device() const { return device_; }

 private:
  friend class Scheduler;
  EmuDevice& device_;
  std::deque<Operation> queue_;
  bool busy_ = false;                 ///< its first operation is running and already out of the queue
  bool transient_ = false;            ///< a branch of a replayed graph: gone when empty
  std::shared_ptr<Capture> capture_;  ///< while it is recorded
  std::size_t branch_ = 0;
};

/// The device that the calling thread has entered last; 0 at first, as in CUDA.
int entered_device();
void enter_device(int id);

class Scheduler {
 public:
  /// The process's own: events reach across devices.
  static Scheduler& instance();

  void reseed(std::uint64_t seed);

  void add(EmuStream& stream);
  /// Runs what the stream still holds, and forgets it.
  void remove(EmuStream& stream) noexcept;

  /// Queues or records it. Throws Error{kDevice} where a recording forbids it.
  void push(EmuStream& stream, Operation operation);
  std::shared_ptr<Mark> record(EmuStream& stream);
  void wait(EmuStream& stream, const std::shared_ptr<Mark>& mark);

  bool is_recorded(const EmuStream& stream);
  void begin_capture(EmuStream& stream);
  std::shared_ptr<Capture> end_capture(EmuStream& stream);
  void replay(const Capture& capture, EmuStream& stream);
  /// Throws Error{kDevice} if the calling thread is recording: `what` is forbidden then.
  void forbid_while_recording(const std::string& what);
  /// The same for those that cannot throw: the recording will fail at its end.
  void spoil_recording(const std::string& what) noexcept;

  /// Runs operations until the stream is empty; throws its device's error.
  void synchronize(EmuStream& stream);
  /// Runs at most one operation; whether the stream is empty. Throws its device's error.
  bool idle(EmuStream& stream);
  /// The same for a mark of a stream of the device.
  void synchronize(const Mark& mark, const EmuDevice& device);
  bool passed(const Mark& mark, const EmuDevice& device);
  HostWaits host_waits() const;
  /// Runs operations until all streams of the device are empty. Throws nothing, the error stays.
  void finish(const EmuDevice& device) noexcept;

 private:
  Scheduler();
  using Lock = std::unique_lock<std::mutex>;

  EmuStream* pick();
  bool outsiders_hold() const;
  bool run_one(Lock& lock);
  void run_until(Lock& lock, const std::function<bool()>& reached);
  void insert(EmuStream& stream, Operation operation);
  void throw_error_of(const EmuDevice& device) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<EmuStream*> streams_;
  std::vector<std::unique_ptr<EmuStream>> branches_;  ///< transient streams
  std::vector<std::shared_ptr<Capture>> captures_;    ///< going on
  std::mt19937_64 random_;
  EmuStream* favourite_ = nullptr;
  std::size_t running_ = 0;  ///< operations
  std::atomic<std::uint64_t> stream_waits_ = 0, event_waits_ = 0;
};

}  // namespace dptrain::backend::emu
