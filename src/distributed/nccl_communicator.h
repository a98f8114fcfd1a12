#pragma once

// One rank's NCCL communicator: made without blocking, so that it can be given up at any point. Every call is followed
// by polling until NCCL has taken it in. Owned by the connector; called by the rank's thread, but for abort(), which
// any thread may call.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "distributed/event_counts.h"
#include "distributed/nccl_api.h"

namespace dptrain::distributed::nccl {

class Communicator {
 public:
  /// `meeting`: where all ranks learn that one has failed.
  Communicator(const Api& api, EventCounts& counts, int rank, int ranks);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// On the rank's thread, its device current; returns when all ranks have come. `blocks`: the most that a collective
  /// may occupy of the device at once; 0: as NCCL sees fit.
  void open(const UniqueId& id, int blocks = 0);
  /// When nothing is queued any more and recordings are gone: all ranks, each on its thread. After an abort, whose end
  /// it waits for, or when the others do not come, it gives up what is left.
  void close() noexcept;
  /// Ends whatever is queued or running; later calls throw the meeting's reason. Does not wait: NCCL gives up a
  /// communicator whose calls were recorded only when the recordings are gone, which the ranks' threads hold.
  void abort() noexcept;

  /// Returns when `reached` says so, looking meanwhile.
  void wait(const std::string& what, const std::function<bool()>& reached);

  /// Queued on the stream. `what`: "all-reduce of bucket 3", for messages; `type`: kFloat32 or kBfloat16.
  void sum(void* values, std::int64_t count, int type, void* stream, const std::string& what);
  void gather(const void* mine, std::int64_t bytes, void* all, void* stream, const std::string& what);

  /// Calls in between are recorded, and NCCL takes them in without the other ranks.
  void begin_recording();
  void end_recording();
  /// They are made again, all of them, by a recording that is launched next. `what`: for messages.
  void replay(const std::string& what);

  /// From now on look() and calls that wait throw Error{kDeadline} when so many seconds have passed; until relax().
  void expect_progress(double seconds);
  void relax() { deadline_.reset(); }
  /// Throws when another rank has failed, when NCCL reports an error, or when the deadline has passed.
  void poll();
  /// The same without the deadline.
  void look_for_errors();

  /// Whether the thread is waiting for NCCL or for other ranks at this moment. Any thread.
  bool waits() const { return waits_.load(std::memory_order_relaxed); }
  /// Calls made, to compare ranks by.
  std::int64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  /// Adds to the message of a deadline: how far all ranks are. Set before the first call.
  void set_report(std::function<std::string()> report) { report_ = std::move(report); }

 private:
  using Clock = std::chrono::steady_clock;

  /// Runs `call` with the handle, then polls until NCCL has taken it in.
  template <class Call>
  void run(const std::string& what, const Call& call);
  void settle(const std::string& what);
  /// What NCCL says of this communicator: success, in progress, or an error.
  Result state();
  void throw_if_late() const;
  [[noreturn]] void fail(Result result, const std::string& what);
  std::string last_error() const;

  const Api& api_;
  EventCounts& counts_;
  const int rank_, ranks_;
  std::mutex mutex_;  ///< of the handle: abort() frees it while others may be about to use it
  Handle handle_ = nullptr;
  std::thread ending_;                  ///< gives up an aborted communicator; guarded by mutex_
  std::atomic<bool> recorded_ = false;  ///< some of its calls were
  std::int64_t calls_recorded_ = 0;     ///< of a recording
  std::atomic<std::int64_t> calls_ = 0;
  std::atomic<bool> waits_ = false;
  std::function<std::string()> report_;
  std::string doing_ = "initialisation";  ///< the last thing asked for
  std::optional<Clock::time_point> deadline_;
  double limit_seconds_ = 0;
};

}  // namespace dptrain::distributed::nccl
