#pragma once

// Processes: the processes of one run, started by a launcher and joined by MPI. In each process, the communication
// thread makes all MPI calls, none of which blocks. Other threads post an Exchange to it, or call a function that waits
// for one.
//
// A process that fails notifies all others, where all waiting threads throw. A process that sends nothing for too long
// counts as failed. Made and destroyed on the main thread.
//
//   Processes processes([&] { return open_mpi(*launch); }, {});
//   const std::vector<std::string> all = processes.gather("text of this process");
//   auto connector = make_processes(rank_layout, processes);  // sums of the CPU replicas of all processes

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "distributed/exchange.h"
#include "distributed/shared_memory.h"

namespace dptrain::distributed {

// Groups of processes that share memory. Pure function.

/// Divides the processes, greedily from process 0, into groups of consecutive ones that all reach each other's memory.
/// `reach[p][q]` is '1' if p reaches the memory of q. Returns first processes, then the number of processes.
std::vector<int> memory_groups(const std::vector<std::string>& reach);

class StatusMessages;

class Processes {
 public:
  using Open = std::function<std::unique_ptr<Transport>()>;
  struct Timeouts {
    double silence_seconds = 60;  ///< without a message from a neighbour, until it counts as lost
    double shutdown_seconds = 5;  ///< for a failing process to notify the others, and to end after that
  };

  /// `open` runs on the communication thread. Returns when all processes have joined; rethrows exceptions of `open`.
  Processes(const Open& open, const Timeouts& timeouts);
  /// Waits until all other processes end as well, unless one has failed.
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int process() const { return process_; }
  int count() const { return count_; }
  bool is_first() const { return process_ == 0; }
  const std::string& library() const { return library_; }
  const std::string& host(int process) const;
  /// For example "process 1 (node-b)".
  std::string name(int process) const;
  /// Number of machines.
  int hosts() const;
  /// Result of memory_groups(): the first process of each group that shares memory, followed by count().
  const std::vector<int>& groups() const { return groups_; }
  void set_silence(double seconds);

  /// Returns the argument of every process, by process. All processes call it, in the same order as other gathers and
  /// broadcasts; one thread at a time. Throws Error if a process has failed.
  std::vector<std::string> gather(std::string mine);
  /// Returns the argument of process 0.
  std::string broadcast(std::string of_first);

  /// Any thread. After a failure the exchange is canceled at once.
  void post(std::shared_ptr<Exchange> exchange);

  /// Marks that a thread only waits for an exchange, so that its core is idle. While one exists, the communication
  /// thread polls for a few milliseconds before it sleeps between polls.
  class BusyPollScope {
   public:
    explicit BusyPollScope(Processes& processes) : waiting_(processes.waiting_) { waiting_.fetch_add(1); }
    ~BusyPollScope() { waiting_.fetch_sub(1); }
    BusyPollScope(const BusyPollScope&) = delete;
    BusyPollScope& operator=(const BusyPollScope&) = delete;

   private:
    std::atomic<int>& waiting_;
  };

  /// Called when this process cannot continue: sends the reason to the others and cancels all posted exchanges.
  /// Returns when the reason has been sent. Called at most once, and not after another process has failed.
  void fail(const Error& why) noexcept;
  /// The failure of another process: "process 1 (node-b): ...", with its kind. A process that fails to call this within
  /// a few seconds of a failure is terminated by the communication thread.
  std::optional<Error> failure();
  /// `listener` is called once, on the communication thread, with the reason when a process fails; at once if one has
  /// failed. Null: no listener.
  void on_failure(std::function<void(const Error& why)> listener);
  /// For threads that wait for other processes in shared memory: throws the same error as gather(). Any thread.
  void throw_if_failed();
  /// After fail(): process 0 has failed for the same reason, so this process need not report it.
  bool is_duplicate_failure();
  /// After a failure of any process: returns when MPI no longer accesses any memory of this process.
  void wait_until_drained();

 private:
  enum class State { kRunning, kFailing, kDrained };

  void work(const Open& open);
  void join_run(Transport& transport);
  void join_shared_memory(Transport& transport);
  std::vector<std::string> exchange(Transport& transport, std::string mine);
  void drive(Transport& transport);
  bool poll(Transport& transport);
  void pause(int idle_polls);
  void cancel_all(const Error& why);
  void end_in_failure();
  void spread_failure(const Error& why);
  void exchange_shutdowns(Transport& transport);

  Timeouts timeouts_;  ///< silence_seconds under mutex_
  int process_ = 0, count_ = 1;
  std::string library_;
  std::vector<std::string> hosts_;
  std::vector<int> groups_;
  std::shared_ptr<SharedMemory> gather_memory_;  ///< null: not all processes share memory, gathers use messages
  std::optional<SharedGather> shared_gather_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_, wake_;
  std::vector<std::shared_ptr<Exchange>> posted_;
  std::optional<Error> own_failure_, failure_;
  bool opened_ = false, closing_ = false, asked_ = false, duplicate_failure_ = false;
  State state_ = State::kRunning;
  std::exception_ptr open_error_;
  std::function<void(const Error& why)> listener_;

  std::atomic<int> waiting_ = 0;      ///< number of BusyPollScopes
  std::atomic<bool> failed_ = false;  ///< `failure_` is set

  // Used by the communication thread only.
  std::unique_ptr<StatusMessages> status_;
  std::vector<std::shared_ptr<Exchange>> active_, canceled_;
  std::thread thread_;
};

}  // namespace dptrain::distributed
