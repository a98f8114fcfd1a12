#pragma once

// Communicator: the NCCL communicator of one rank. Non-blocking, so that it can be aborted at any point: every call
// polls until NCCL has accepted it. Owned by the connector. Used on the rank's thread, except for abort(), waits() and
// calls(), which any thread may call.

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
  /// `counts`: shared by all ranks of the process; aborted when one fails.
  Communicator(const Api& api, EventCounts& counts, int rank, int ranks);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Returns when all ranks have joined. The caller's device must be current. `blocks`: maximum number of thread blocks
  /// of a collective; 0: NCCL's choice.
  void open(const UniqueId& id, int blocks = 0);
  /// Called by all ranks, each on its thread, when no work is queued and all recordings are destroyed. Joins a pending
  /// abort. Aborts the communicator if finalizing fails or the other ranks do not join within ten seconds.
  void close() noexcept;
  /// Aborts queued and running work; later calls throw the reason in `counts`. Does not wait if calls were recorded,
  /// because NCCL then frees the communicator only after the recordings, which the ranks' threads own.
  void abort() noexcept;

  /// Polls until `reached` returns true.
  void wait(const std::string& what, const std::function<bool()>& reached);

  /// All-reduce in place, queued on the stream. `what`: for messages ("all-reduce of bucket 3"). `type`: kFloat32 or
  /// kBfloat16.
  void sum(void* values, std::int64_t count, int type, void* stream, const std::string& what);
  void gather(const void* mine, std::int64_t bytes, void* all, void* stream, const std::string& what);

  /// Calls in between are recorded by the stream capture; NCCL accepts them without the other ranks.
  void begin_recording();
  void end_recording();
  /// Counts all recorded calls again, before the recording is launched. `what`: for messages.
  void replay(const std::string& what);

  /// Sets a deadline after which poll() and waiting calls throw Error{kDeadline}. relax() removes it.
  void expect_progress(double seconds);
  void relax() { deadline_.reset(); }
  /// Throws if another rank has failed, NCCL reports an error, or the deadline has passed.
  void poll();
  /// As poll(), without the deadline.
  void check_errors();

  /// Whether the thread is waiting for NCCL or other ranks now. Any thread.
  bool waits() const { return waits_.load(std::memory_order_relaxed); }
  /// Number of calls, to compare ranks. Any thread.
  std::int64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  /// Progress of all ranks, appended to the message of a missed deadline. Set before the first call.
  void set_report(std::function<std::string()> report) { report_ = std::move(report); }

 private:
  using Clock = std::chrono::steady_clock;

  /// Runs `call` with the handle, then polls until NCCL no longer reports it as in progress.
  template <class Call>
  void run(const std::string& what, const Call& call);
  void wait_until_complete(const std::string& what);
  /// Asynchronous state of the communicator: success, in progress, or an error.
  Result state();
  void throw_if_late() const;
  [[noreturn]] void fail(Result result, const std::string& what);
  std::string last_error() const;

  const Api& api_;
  EventCounts& counts_;
  const int rank_, ranks_;
  std::mutex mutex_;  ///< guards the handle, which abort() may free from another thread
  Handle handle_ = nullptr;
  std::thread ending_;                  ///< aborts the communicator in the background; guarded by mutex_
  std::atomic<bool> recorded_ = false;  ///< whether begin_recording() was called
  std::int64_t calls_recorded_ = 0;     ///< calls in one recording
  std::atomic<std::int64_t> calls_ = 0;
  std::atomic<bool> waits_ = false;
  std::function<std::string()> report_;
  std::string operation_ = "initialization";  ///< the last operation, for messages
  std::optional<Clock::time_point> deadline_;
  double limit_seconds_ = 0;
};

}  // namespace dptrain::distributed::nccl
