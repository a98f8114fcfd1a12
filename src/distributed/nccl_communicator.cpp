#include "distributed/nccl_communicator.h"

#include <system_error>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::distributed::nccl {
namespace {

/// NCCL accepts most calls within microseconds. Slower calls (connecting) can afford a pause per poll.
constexpr int kBusyPolls = 200;
constexpr std::chrono::microseconds kPollPause{100};
/// Nothing is queued when communicators are closed, so this limits only the wait for the other ranks.
constexpr std::chrono::seconds kCloseLimit{10};

void pause(int polls) {
  if (polls < kBusyPolls)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(kPollPause);
}

class Waiting {
 public:
  explicit Waiting(std::atomic<bool>& flag) : flag_(flag) { flag_.store(true, std::memory_order_relaxed); }
  ~Waiting() { flag_.store(false, std::memory_order_relaxed); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

Communicator::Communicator(const Api& api, EventCounts& counts, int rank, int ranks)
    : api_(api), counts_(counts), rank_(rank), ranks_(ranks) {}

Communicator::~Communicator() {
  abort();
  if (ending_.joinable()) ending_.join();
}

template <class Call>
void Communicator::run(const std::string& what, const Call& call) {
  operation_ = what;
  Result result = kSuccess;
  {
    const std::lock_guard lock(mutex_);
    counts_.throw_if_aborted();  // under the lock, because the connector aborts counts_ before the handle
    if (handle_ == nullptr) throw Error(ErrorKind::kInternal, fmt::format("NCCL {}: the communicator is closed", what));
    result = call(handle_);
  }
  calls_.fetch_add(1, std::memory_order_relaxed);
  if (result != kSuccess && result != kInProgress) fail(result, what);
  wait_until_complete(what);
}

void Communicator::open(const UniqueId& id, int blocks) {
  Config config;
  if (blocks > 0) config.max_ctas = blocks;
  Result result = kSuccess;
  {
    const std::lock_guard lock(mutex_);
    counts_.throw_if_aborted();
    result = api_.init_rank(&handle_, ranks_, id, rank_, &config);
  }
  if (result != kSuccess && result != kInProgress) fail(result, operation_);
  wait_until_complete(operation_);
}

void Communicator::close() noexcept {
  Handle handle = nullptr;
  std::thread ending;
  {
    const std::lock_guard lock(mutex_);
    handle = std::exchange(handle_, nullptr);
    ending = std::move(ending_);
  }
  if (ending.joinable()) ending.join();
  if (handle == nullptr) return;
  Result state = api_.finalize(handle);
  const Clock::time_point limit = Clock::now() + kCloseLimit;
  for (int polls = 0; state == kInProgress && Clock::now() < limit; ++polls) {
    pause(polls);
    if (api_.get_async_error(handle, &state) != kSuccess) break;
  }
  if (state != kSuccess || api_.destroy(handle) != kSuccess) api_.abort(handle);
}

void Communicator::abort() noexcept {
  const std::lock_guard lock(mutex_);
  if (handle_ == nullptr) return;
  const Handle handle = std::exchange(handle_, nullptr);
  if (!recorded_.load()) {
    api_.abort(handle);
    return;
  }
  try {
    ending_ = std::thread([this, handle] { api_.abort(handle); });
  } catch (const std::system_error&) {  // no thread: wait for NCCL here
    api_.abort(handle);
  }
}

void Communicator::begin_recording() {
  recorded_.store(true);
  calls_recorded_ = -calls();
}

void Communicator::end_recording() { calls_recorded_ += calls(); }

void Communicator::replay(const std::string& what) {
  operation_ = what;
  calls_.fetch_add(calls_recorded_, std::memory_order_relaxed);
}

void Communicator::sum(void* values, std::int64_t count, int type, void* stream, const std::string& what) {
  run(what, [&](Handle handle) {
    return api_.all_reduce(values, values, static_cast<std::size_t>(count), type, kSum, handle, stream);
  });
}

void Communicator::gather(const void* mine, std::int64_t bytes, void* all, void* stream, const std::string& what) {
  run(what, [&](Handle handle) {
    return api_.all_gather(mine, all, static_cast<std::size_t>(bytes), kInt8, handle, stream);
  });
}

void Communicator::expect_progress(double seconds) {
  limit_seconds_ = seconds;
  deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Result Communicator::state() {
  const std::lock_guard lock(mutex_);
  if (handle_ == nullptr) return kSuccess;  // aborted: counts_ has the reason
  Result state = kSuccess;
  const Result asked = api_.get_async_error(handle_, &state);
  return asked == kSuccess ? state : asked;
}

void Communicator::poll() {
  check_errors();
  throw_if_late();
}

void Communicator::check_errors() {
  counts_.throw_if_aborted();
  if (const Result now = state(); now != kSuccess && now != kInProgress) fail(now, operation_);
}

void Communicator::wait_until_complete(const std::string& what) {
  const Waiting waiting(waits_);
  for (int polls = 0;; ++polls) {
    const Result now = state();
    counts_.throw_if_aborted();  // after state(), which returns success for an aborted communicator
    if (now == kSuccess) return;
    if (now != kInProgress) fail(now, what);
    throw_if_late();
    pause(polls);
  }
}

void Communicator::wait(const std::string& what, const std::function<bool()>& reached) {
  const Waiting waiting(waits_);
  operation_ = what;
  for (int polls = 0; !reached(); ++polls) {
    poll();
    pause(polls);
  }
}

void Communicator::throw_if_late() const {
  if (!deadline_ || Clock::now() < *deadline_) return;
  throw Error(ErrorKind::kDeadline,
              fmt::format("NCCL {}: no progress for {:g} s{}; {}; a replica hangs or a link is down: continue from the "
                          "last checkpoint with --resume, or raise parallel.watchdog",
                          operation_, limit_seconds_, report_ ? " (" + report_() + ")" : "", last_error()));
}

void Communicator::fail(Result result, const std::string& what) {
  throw Error(ErrorKind::kDevice,
              fmt::format("NCCL {}: {}; {}{}", what, api_.error_string(result), last_error(),
                          result == kRemoteError ? "; another replica or its process has ended" : ""));
}

std::string Communicator::last_error() const {
  // NCCL stores it per thread and process, and ignores the handle.
  const char* const full_text = api_.last_error(nullptr);
  return full_text == nullptr || *full_text == '\0' ? "NCCL reports no details"
                                                    : fmt::format("last error: {}", full_text);
}

}  // namespace dptrain::distributed::nccl
