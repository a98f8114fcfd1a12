#include "distributed/processes.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>
#include <utility>

#include <sys/prctl.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/floats.h"
#include "core/format.h"
#include "core/index.h"
#include "core/log.h"
#include "distributed/gather.h"
#include "distributed/status_messages.h"

namespace dptrain::distributed {

std::vector<int> memory_groups(const std::vector<std::string>& reach) {
  const int processes = static_cast<int>(reach.size());
  std::vector<int> firsts;
  const auto belongs = [&](int process) {
    for (int other = firsts.back(); other < process; ++other)
      if (reach[at(other)][at(process)] != '1' || reach[at(process)][at(other)] != '1') return false;
    return true;
  };
  for (int p = 0; p < processes; ++p)
    if (firsts.empty() || !belongs(p)) firsts.push_back(p);
  firsts.push_back(processes);
  return firsts;
}

namespace {

using std::chrono::duration;

/// Without exchanges, the thread only checks for status messages.
constexpr duration<double> kIdle{0.02};
/// Polls before the first pause: about the time in which a process on the same machine answers.
constexpr int kBusyPolls = 20;
/// As kBusyPolls while a thread waits: one or two milliseconds, longer than a bucket takes on one machine.
constexpr int kWaitingPolls = 4000;
constexpr double kShortestPause = 10e-6, kLongestPause = 200e-6;

/// Result of a gather, shared with the threads that wait for it.
struct Waiting {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  Gather::Result all;
  std::optional<Error> failed;
};

}  // namespace

Processes::Processes(const Open& open, const Timeouts& timeouts) : timeouts_(timeouts) {
  thread_ = std::thread([this, open] { work(open); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return opened_; });
  if (!open_error_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(open_error_);
}

Processes::~Processes() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

const std::string& Processes::host(int process) const { return hosts_[at(process)]; }

std::string Processes::name(int process) const { return fmt::format("process {} ({})", process, host(process)); }

int Processes::hosts() const { return static_cast<int>(std::set(hosts_.begin(), hosts_.end()).size()); }

void Processes::set_silence(double seconds) {
  const std::lock_guard lock(mutex_);
  timeouts_.silence_seconds = seconds;
}

std::vector<std::string> Processes::gather(std::string mine) {
  if (shared_gather_) {
    throw_if_failed();  // gather() checks only while it waits
    std::vector<std::string> all(at(count_));
    const auto place = [&all](int process, std::size_t bytes) {
      all[at(process)].resize(bytes);
      return reinterpret_cast<std::byte*>(all[at(process)].data());
    };
    shared_gather_->gather(mine.data(), mine.size(), place, [this] { throw_if_failed(); });
    return all;
  }
  const auto waiting = std::make_shared<Waiting>();
  post(std::make_shared<Gather>(std::move(mine), kGatherHead, kGatherRest,
                                [waiting](Gather::Result all, const Error* failed) {
                                  const std::lock_guard lock(waiting->mutex);
                                  waiting->all = std::move(all);
                                  if (failed != nullptr) waiting->failed = *failed;
                                  waiting->done = true;
                                  waiting->changed.notify_all();
                                }));
  const BusyPollScope busy_poll(*this);
  std::unique_lock lock(waiting->mutex);
  waiting->changed.wait(lock, [&] { return waiting->done; });
  if (waiting->failed) throw Error(*waiting->failed);
  return std::move(waiting->all);
}

std::string Processes::broadcast(std::string of_first) {
  return std::move(gather(is_first() ? std::move(of_first) : "").front());
}

void Processes::post(std::shared_ptr<Exchange> exchange) {
  std::optional<Error> failed;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kRunning)
      posted_.push_back(exchange);
    else
      failed = failure_;
  }
  wake_.notify_all();
  if (failed) exchange->cancel(*failed);
}

void Processes::fail(const Error& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_ && !own_failure_) own_failure_ = why;
  }
  wake_.notify_all();
  wait_until_drained();
}

std::optional<Error> Processes::failure() {
  const std::lock_guard lock(mutex_);
  if (!failure_ || own_failure_) return std::nullopt;
  asked_ = true;
  wake_.notify_all();
  return failure_;
}

void Processes::throw_if_failed() {
  if (!failed_) return;
  const std::lock_guard lock(mutex_);
  throw Error(*failure_);
}

void Processes::on_failure(std::function<void(const Error& why)> listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  if (failure_ && listener_) listener_(*failure_);
}

bool Processes::is_duplicate_failure() {
  const std::lock_guard lock(mutex_);
  return duplicate_failure_;
}

void Processes::wait_until_drained() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return state_ == State::kDrained; });
}

void Processes::work(const Open& open) {
  std::unique_ptr<Transport> transport;
  flush_subnormals();  // as in the replicas' threads, because this thread adds gradients
  try {
    prctl(PR_SET_TIMERSLACK, 1000UL);  // ns; the default makes pauses five times as long
    transport = open();
    join_run(*transport);
  } catch (...) {
    open_error_ = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    opened_ = true;
  }
  changed_.notify_all();
  if (!open_error_) drive(*transport);
}

/// Exchanges host names and finds the groups that share memory.
void Processes::join_run(Transport& transport) {
  process_ = transport.process();
  count_ = transport.processes();
  library_ = transport.library();
  status_ = std::make_unique<StatusMessages>(transport, now_seconds);
  hosts_ = exchange(transport, transport.host());
  join_shared_memory(transport);
}

/// Runs a gather while no other exchange is active.
std::vector<std::string> Processes::exchange(Transport& transport, std::string mine) {
  std::vector<std::string> found;
  Gather gather(std::move(mine), kGatherHead, kGatherRest,
                [&found](Gather::Result all, const Error*) { found = std::move(all); });
  for (int polls = 0; gather.advance(transport) != Exchange::Progress::kDone;) pause(++polls);
  return found;
}

/// Finds the processes that can open each other's memory. If all can, gathers use the memory of process 0.
void Processes::join_shared_memory(Transport& transport) {
  std::shared_ptr<SharedMemory> mine;
  if (transport.shares_memory()) mine = SharedMemory::make(is_first() ? SharedGather::bytes(count_) : 1);
  const std::vector<std::string> made =
      exchange(transport, SharedMemory::to_bytes({mine ? mine->handle() : SharedMemory::Handle{}}));
  std::vector<std::shared_ptr<SharedMemory>> opened;
  std::string reach;
  for (int p = 0; p < count_; ++p) {
    const bool here = host(p) == host(process_);
    opened.push_back(here ? SharedMemory::open(SharedMemory::from_bytes(made[at(p)]).front()) : nullptr);
    reach += opened.back() ? '1' : '0';
  }
  groups_ = memory_groups(exchange(transport, reach));
  if (count_ == 1 || groups_.size() != 2) return;
  gather_memory_ = opened.front();
  shared_gather_.emplace(gather_memory_->data(), count_, process_);
}

void Processes::pause(int idle_polls) {
  if (idle_polls <= kBusyPolls || (waiting_.load(std::memory_order_relaxed) > 0 && idle_polls <= kWaitingPolls))
    return std::this_thread::yield();
  const double seconds = std::min(kLongestPause, kShortestPause * (idle_polls - kBusyPolls));
  std::this_thread::sleep_for(duration<double>(seconds));
}

void Processes::drive(Transport& transport) {
  int idle_polls = 0;
  double last_look = 0;
  while (state_ == State::kRunning) {
    try {
      double silence = 0;
      {
        std::unique_lock lock(mutex_);
        if (active_.empty() && posted_.empty() && !own_failure_ && !closing_) wake_.wait_for(lock, kIdle);
        active_.insert(active_.end(), posted_.begin(), posted_.end());
        posted_.clear();
        silence = timeouts_.silence_seconds;
        if (own_failure_) failure_ = own_failure_, state_ = State::kFailing, failed_ = true;
        if (closing_ && active_.empty()) break;
      }
      if (state_ == State::kFailing) break;
      if (now_seconds() - last_look > kIdle.count()) {
        last_look = now_seconds();
        if (const auto found = status_->poll(silence)) {
          const std::lock_guard lock(mutex_);
          failure_ = found->why.within(name(found->process));
          state_ = State::kFailing;
          failed_ = true;
        }
      }
      if (state_ == State::kFailing) break;
      if (active_.empty()) continue;
      idle_polls = poll(transport) ? 0 : idle_polls + 1;
      if (idle_polls > 0) pause(idle_polls);
    } catch (...) {  // including std::bad_alloc, so that the others are notified
      const Error error = as_error(std::current_exception());
      const std::lock_guard lock(mutex_);
      own_failure_ = error;
    }
  }
  if (state_ == State::kFailing)
    end_in_failure();
  else
    exchange_shutdowns(transport);
}

bool Processes::poll(Transport& transport) {
  bool moved = false;
  for (auto exchange = active_.begin(); exchange != active_.end();) {  // not erase_if, because advance() may throw
    const Exchange::Progress progress = (*exchange)->advance(transport);
    moved = moved || progress != Exchange::Progress::kWaits;
    exchange = progress == Exchange::Progress::kDone ? active_.erase(exchange) : std::next(exchange);
  }
  return moved;
}

void Processes::cancel_all(const Error& why) {
  std::vector<std::shared_ptr<Exchange>> posted;  // not begun
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
    if (listener_) listener_(why);
  }
  for (const auto& exchange : active_) exchange->cancel(why);
  for (const auto& exchange : posted) exchange->cancel(why);
  canceled_ = std::move(active_);  // pending messages may still access their memory
  active_.clear();
}

/// Notifies the others. Sets duplicate_failure_ if process 0 failed for the same reason, such as a wrong config.
void Processes::spread_failure(const Error& why) {
  constexpr double kEchoSeconds = 0.3;
  const Stopwatch watch;
  status_->send_failure(why);
  for (int polls = 1; watch.seconds() < timeouts_.shutdown_seconds / 2; ++polls) {
    const auto found = status_->poll(timeouts_.shutdown_seconds);
    if (found && found->process == 0 && StatusMessages::shown(why) == found->why.what()) duplicate_failure_ = true;
    if (status_->all_sent() && (is_first() || duplicate_failure_ || watch.seconds() > kEchoSeconds)) return;
    pause(polls);
  }
}

/// `state_` and `failure_` are set, so nothing new is posted.
void Processes::end_in_failure() {
  const Error why = *failure_;
  cancel_all(why);
  try {
    // Only its neighbours detect a silent process, so the others must be notified.
    if (own_failure_ || why.kind() == ErrorKind::kDeadline) spread_failure(why);
  } catch (const std::exception&) {  // processes that miss the message detect the silence
  }
  // No MPI calls from here on.
  std::unique_lock lock(mutex_);
  state_ = State::kDrained;
  changed_.notify_all();
  const duration<double> end{timeouts_.shutdown_seconds};
  if (own_failure_) {
    // A launcher terminates the others when this process ends. Give them time to report the reason first.
    wake_.wait_for(lock, end, [this] { return closing_; });
    lock.unlock();
    std::this_thread::sleep_for(std::min(end, duration<double>(is_first() ? 0.5 : 2.0)));
    return;
  }
  if (wake_.wait_for(lock, end, [this] { return asked_ || closing_; })) return;
  if (is_first()) log::error(why.what());
  std::fflush(nullptr);
  _exit(why.exit_code());
}

/// Waits for the other processes, because a launcher may treat an early exit as a failure.
void Processes::exchange_shutdowns(Transport& transport) {
  try {
    status_->send_shutdown();
    bool failed = false;
    for (int polls = 1; !failed && !(status_->all_sent() && status_->all_ended()); ++polls) {
      failed = status_->poll(timeouts_.silence_seconds).has_value();
      pause(polls);
    }
    if (!failed) transport.finalize();
  } catch (const std::exception& error) {
    log::warn(error.what());
  }
}

}  // namespace dptrain::distributed
