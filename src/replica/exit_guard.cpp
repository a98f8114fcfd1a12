#include "replica/exit_guard.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace dptrain::replica {

ExitGuard::~ExitGuard() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ExitGuard::arm(double seconds, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable()) return;
  thread_ = std::thread([this, seconds, why] {
    std::unique_lock waiting(mutex_);
    if (wake_.wait_for(waiting, std::chrono::duration<double>(seconds), [this] { return over_; })) return;
    log::error(
        fmt::format("error: {}; {:g} s later the devices still do not stop, so the process ends without them: go on "
                    "from the last checkpoint with --resume",
                    why, seconds));
    std::fflush(nullptr);
    _exit(static_cast<int>(ErrorKind::kDeadline));
  });
}

}  // namespace dptrain::replica
