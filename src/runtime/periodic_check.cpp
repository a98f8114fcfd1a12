#include "runtime/periodic_check.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::runtime {

PeriodicCheck::PeriodicCheck(double period, std::function<void()> check) : check_(std::move(check)) {
  try {
    thread_ = std::thread([this, period] { work(period); });
  } catch (const std::system_error& error) {
    throw Error(ErrorKind::kDevice, fmt::format("cannot start the thread of the watchdog: {}", error.what()));
  }
}

PeriodicCheck::~PeriodicCheck() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void PeriodicCheck::begin(const std::function<void()>& change) {
  const std::lock_guard lock(mutex_);
  change();
  on_ = true;
}

void PeriodicCheck::end(const std::function<void()>& change) {
  const std::lock_guard lock(mutex_);
  on_ = false;
  change();
}

void PeriodicCheck::work(double period) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(period), [this] { return stopping_; }))
    if (on_) check_();
}

}  // namespace dptrain::runtime
