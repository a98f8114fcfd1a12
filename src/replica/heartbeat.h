#pragma once

// Heartbeat: how far a replica's thread has got. The thread beats whenever it begins something; a Watchdog looks on.

#include <atomic>
#include <cstdint>
#include <string>

namespace dptrain::replica {

class Heartbeat {
 public:
  /// The thread begins `what` ("forward of layer", a literal) of `whose`, which lives as long as the heart is looked
  /// at.
  void beat(const char* what, const std::string* whose = nullptr) noexcept {
    whose_.store(whose, std::memory_order_relaxed);
    what_.store(what, std::memory_order_relaxed);
    beats_.fetch_add(1, std::memory_order_release);
  }

  std::uint64_t beats() const noexcept { return beats_.load(std::memory_order_acquire); }
  /// "forward of layer conv2"
  std::string doing() const {
    const std::string* whose = whose_.load(std::memory_order_relaxed);
    return what_.load(std::memory_order_relaxed) + (whose != nullptr ? " " + *whose : "");
  }

 private:
  std::atomic<std::uint64_t> beats_ = 0;
  std::atomic<const char*> what_ = "nothing yet";
  std::atomic<const std::string*> whose_ = nullptr;
};

}  // namespace dptrain::replica
