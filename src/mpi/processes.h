#pragma once

// Processes: the processes of one run, which a launcher has started, joined by MPI. One thread of each, the
// communication thread, makes all calls of MPI and none that waits; everybody else posts an Exchange to it, or calls
// what waits for one.
//
// A process that fails says so to all others, and everything that waits in them throws; one that is not heard of for
// too long counts as failed. Made and destroyed on the main thread.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "mpi/exchange.h"
#include "mpi/shared_memory.h"

namespace dptrain::mpi {

// Which processes share memory. Pure.

/// Groups of processes with neighbouring numbers that all reach each other's memory, as large as they can be made from
/// process 0 on: the first process of each and, behind them, the number of all. `reach[p][q]` is '1' where process p
/// reaches the memory of q.
std::vector<int> memory_groups(const std::vector<std::string>& reach);

class News;

class Processes {
 public:
  using Open = std::function<std::unique_ptr<Transport>()>;
  struct Patience {
    double silence_seconds = 60;  ///< of a neighbour, until it counts as lost
    double farewell_seconds =
        5;  ///< that a process which fails takes to tell the others, and at most to end after them
  };

  /// `open` runs on the communication thread. Returns when all have come; throws what it throws.
  Processes(const Open& open, const Patience& patience);
  /// Waits for all others to come to their end as well, unless one has failed.
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int process() const { return process_; }
  int count() const { return count_; }
  bool is_first() const { return process_ == 0; }
  const std::string& library() const { return library_; }
  const std::string& host(int process) const;
  /// "process 1 (node-b)".
  std::string name(int process) const;
  /// On how many machines.
  int hosts() const;
  /// Who shares memory (mpi/processes.h): the first process of each group and, behind them, count().
  const std::vector<int>& groups() const { return groups_; }
  void set_silence(double seconds);

  /// What every process gives, by process. All must call it, in the same order as other gathers and broadcasts. One
  /// thread at a time. Throws Error when a process has failed.
  std::vector<std::string> gather(std::string mine);
  /// What process 0 gives.
  std::string broadcast(std::string of_first);

  /// Any thread. After a failure it is given up at once.
  void post(std::shared_ptr<Exchange> exchange);

  /// While one lives, somebody has nothing else to do than to wait for an exchange: the communication thread then looks
  /// again at once, on the core that is free, where it sleeps between its looks beside those who compute.
  class Hurry {
   public:
    explicit Hurry(Processes& processes) : waiting_(processes.waiting_) { waiting_.fetch_add(1); }
    ~Hurry() { waiting_.fetch_sub(1); }
    Hurry(const Hurry&) = delete;
    Hurry& operator=(const Hurry&) = delete;

   private:
    std::atomic<int>& waiting_;
  };

  /// This process cannot go on: the others learn why and everything that is posted is given up. Returns when they have
  /// been told. Called once at most; not after another process has failed.
  void fail(const Error& why) noexcept;
  /// Of another process: "process 1 (node-b): ...", of its kind. Whoever asks ends soon: a process that learns of a
  /// failure and does not ask for seconds is ended by the communication thread.
  std::optional<Error> failure();
  /// Called on the communication thread, once, when a process has failed, with why; at once where one has. Null:
  /// nobody.
  void on_failure(std::function<void(const Error& why)> listener);
  /// For whoever waits for other processes in shared memory: throws what gather() would. Any thread.
  void throw_if_failed();
  /// After fail(): process 0 has failed for the same reason, so this one need not say it, too.
  bool is_echo();
  /// After a failure of any process: returns when MPI touches nobody's memory any more.
  void wait_for_quiet();

 private:
  enum class State { kRuns, kFails, kQuiet };

  void work(const Open& open);
  void meet(Transport& transport);
  void meet_in_memory(Transport& transport);
  std::vector<std::string> exchange(Transport& transport, std::string mine);
  void drive(Transport& transport);
  bool poll(Transport& transport);
  void pause(int idle_polls);
  void give_all_up(const Error& why);
  void end_in_failure();
  void spread_failure(const Error& why);
  void say_goodbye(Transport& transport);

  Patience patience_;  ///< silence_seconds under mutex_
  int process_ = 0, count_ = 1;
  std::string library_;
  std::vector<std::string> hosts_;
  std::vector<int> groups_;
  std::shared_ptr<SharedMemory> gathers_in_;  ///< null: not all share memory, gathers go by messages
  std::optional<SharedGather> shared_gather_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_, wake_;
  std::vector<std::shared_ptr<Exchange>> posted_;
  std::optional<Error> own_failure_, failure_;
  bool opened_ = false, closing_ = false, asked_ = false, echo_ = false;
  State state_ = State::kRuns;
  std::exception_ptr open_error_;
  std::function<void(const Error& why)> listener_;

  std::atomic<int> waiting_ = 0;      ///< Hurry
  std::atomic<bool> failed_ = false;  ///< `failure_` is set

  // The communication thread's.
  std::unique_ptr<News> news_;
  std::vector<std::shared_ptr<Exchange>> active_, given_up_;
  std::thread thread_;
};

}  // namespace dptrain::mpi
