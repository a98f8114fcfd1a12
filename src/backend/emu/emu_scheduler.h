#pragma once

// The streams of all emulated GPUs of the process, and their execution. A thread that waits for a stream runs ready
// operations of all streams in random order, until that stream is empty; several threads may do so concurrently. Over
// many seeds this tries every order that events leave open. A missing event shows as a wrong result.
//
// The scheduler's mutex guards all state. Operations run without it.

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

/// State shared by all streams of a device.
struct EmuDevice {
  int id = 0;
  std::string name;            ///< "emu:0"
  std::optional<Error> error;  ///< of the first operation that failed; no operation runs afterwards
};

/// One record of an event. Waiting operations own it, so that recording the event again does not affect them.
struct Mark {
  bool passed = false;
  bool captured = false;           ///< recorded in a capture, at the position below
  std::weak_ptr<Capture> capture;  ///< weak, since the recording owns its marks
  std::size_t branch = 0, index = 0;
};

/// An operation waits for `awaits` and `ready`, runs `work`, then sets `passes`. Each may be empty.
struct Operation {
  std::string name;
  std::shared_ptr<Mark> awaits;
  std::function<void()> work;
  std::shared_ptr<Mark> passes;
  std::function<bool()> ready{};  ///< called under the scheduler's mutex
};

/// A stream. Its handle is its address as simt::Queue.
class EmuStream final : public simt::Queue {
 public:
  explicit EmuStream(EmuDevice& device) : device_(device) {}
  /// Queues a kernel or convolution. The calling thread must have entered the stream's device, as in CUDA.
  void push(std::string_view name, std::function<void()> work) override;
  EmuDevice& device() const { return device_; }

 private:
  friend class Scheduler;
  EmuDevice& device_;
  std::deque<Operation> queue_;
  bool busy_ = false;                 ///< its first operation has left the queue and is running
  bool transient_ = false;            ///< a branch of a replayed graph; removed when empty
  std::shared_ptr<Capture> capture_;  ///< while it is recorded
  std::size_t branch_ = 0;
};

/// The device that the calling thread entered last; initially 0, as in CUDA.
int entered_device();
void enter_device(int id);

class Scheduler {
 public:
  /// The scheduler of the process; one for all devices, since events connect them.
  static Scheduler& instance();

  void reseed(std::uint64_t seed);

  void add(EmuStream& stream);
  /// Runs the remaining operations of the stream and removes it.
  void remove(EmuStream& stream) noexcept;

  /// Queues or records the operation. Throws Error{kDevice} if a recording forbids it.
  void push(EmuStream& stream, Operation operation);
  std::shared_ptr<Mark> record(EmuStream& stream);
  void wait(EmuStream& stream, const std::shared_ptr<Mark>& mark);

  bool is_recorded(const EmuStream& stream);
  void begin_capture(EmuStream& stream);
  std::shared_ptr<Capture> end_capture(EmuStream& stream);
  void replay(const Capture& capture, EmuStream& stream);
  /// Throws Error{kDevice} if the calling thread is recording; `what` is the forbidden operation.
  void forbid_while_recording(const std::string& what);
  /// For functions that cannot throw: makes the recording fail at its end.
  void invalidate_recording(const std::string& what) noexcept;

  // As in CUDA, the next four fail for a recorded stream or event, and then its recording fails, too.

  /// Runs operations until the stream is empty. Throws its device's error.
  void synchronize(EmuStream& stream);
  /// Runs at most one operation. Returns whether the stream is empty. Throws its device's error.
  bool idle(EmuStream& stream);
  /// As synchronize and idle, for a mark of a stream of the device.
  void synchronize(const Mark& mark, const EmuDevice& device);
  bool passed(const Mark& mark, const EmuDevice& device);
  HostWaits host_waits() const;
  bool is_collective_pending();
  /// Stores a call that may block on a GPU, for take_blocking_calls(), if a collective is pending.
  void note_blocking_call(const std::string& call);
  std::vector<std::string> take_blocking_calls();
  /// Runs operations until all streams of the device are empty. Does not throw; the error remains stored.
  void finish(const EmuDevice& device) noexcept;

 private:
  Scheduler();
  using Lock = std::unique_lock<std::mutex>;

  EmuStream* pick();
  bool waits_for_external_work() const;
  bool has_pending_collective() const;
  bool run_one(Lock& lock);
  void run_until(Lock& lock, const std::function<bool()>& reached);
  void insert(EmuStream& stream, Operation operation);
  void throw_error_of(const EmuDevice& device) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<EmuStream*> streams_;
  std::vector<std::unique_ptr<EmuStream>> branches_;  ///< transient streams
  std::vector<std::shared_ptr<Capture>> captures_;    ///< being recorded
  std::mt19937_64 random_;
  EmuStream* favourite_ = nullptr;
  std::size_t running_ = 0;  ///< number of running operations
  static constexpr std::size_t kMaxBlockingCalls = 100;
  std::vector<std::string> blocking_calls_;
  std::atomic<std::uint64_t> stream_waits_ = 0, event_waits_ = 0;
};

}  // namespace dptrain::backend::emu
