#include "runtime/worker_group.h"

#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "kernels/cpu/spin.h"

namespace dptrain::runtime {

WorkerGroup::WorkerGroup(int size, First first, OnFailure on_failure)
    : size_(size), first_(first), on_failure_(std::move(on_failure)), busy_(static_cast<std::size_t>(size), false) {
  try {
    for (int worker = first == First::kCaller ? 1 : 0; worker < size; ++worker)
      threads_.emplace_back([this, worker] { work(worker); });
  } catch (const std::system_error& error) {
    stop();
    throw Error(ErrorKind::kDevice,
                fmt::format("cannot start thread {} of {}: {}", threads_.size() + 1, size, error.what()));
  }
}

WorkerGroup::~WorkerGroup() { stop(); }

void WorkerGroup::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerGroup::start(const Command& command) {
  command_ = &command;
  failure_ = nullptr;
  failed_worker_ = -1;
  running_ = size_;
  busy_.assign(static_cast<std::size_t>(size_), true);
  ++generation_;
  wake_.notify_all();
}

void WorkerGroup::run(const Command& command) {
  {
    const std::lock_guard lock(mutex_);
    start(command);
  }
  if (first_ == First::kCaller) run_worker(0);
  end();
}

void WorkerGroup::begin(const Command& command) {
  if (first_ == First::kCaller) throw Error(ErrorKind::kInternal, "begin() needs a thread of the group for worker 0");
  const std::lock_guard lock(mutex_);
  start(command);
}

void WorkerGroup::end() {
  kernels::cpu::spin_until([this] { return running_ == 0; });
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return running_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

std::vector<bool> WorkerGroup::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

void WorkerGroup::work(int worker) {
  std::uint64_t seen = 0;
  const auto called = [&] { return stopping_ || generation_ != seen; };
  while (true) {
    kernels::cpu::spin_until(called);
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, called);
      if (generation_ == seen) return;
      seen = generation_;
    }
    run_worker(worker);
  }
}

void WorkerGroup::run_worker(int worker) {
  std::exception_ptr failure;
  try {
    (*command_)(worker);
  } catch (...) {
    failure = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  if (failure && !failure_) {
    failure_ = failure;
    failed_worker_ = worker;
    lock.unlock();
    on_failure_(worker, failure);
    lock.lock();
  }
  failure = nullptr;  // before the command ends, so that only the caller's copy of the exception remains
  busy_[static_cast<std::size_t>(worker)] = false;
  if (--running_ == 0) done_.notify_one();
}

}  // namespace dptrain::runtime
