#include "runtime/lookout.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::runtime {

Lookout::Lookout(double period, std::function<void()> look) : look_(std::move(look)) {
  try {
    thread_ = std::thread([this, period] { work(period); });
  } catch (const std::system_error& error) {
    throw Error(ErrorKind::kDevice, fmt::format("cannot start the thread of the watchdog: {}", error.what()));
  }
}

Lookout::~Lookout() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Lookout::begin(const std::function<void()>& change) {
  const std::lock_guard lock(mutex_);
  change();
  on_ = true;
}

void Lookout::end(const std::function<void()>& change) {
  const std::lock_guard lock(mutex_);
  on_ = false;
  change();
}

void Lookout::work(double period) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(period), [this] { return stopping_; }))
    if (on_) look_();
}

}  // namespace dptrain::runtime
