#pragma once

// Watchdog: notices a replica whose thread no longer gets on, because a call of a driver or a library does not return.
// Such a thread can be neither interrupted nor joined, so what is left is to name it, to let the others stop, and to
// end the process. The hearts beat on the replicas' threads; all else is called by one thread at a time (Lookout).

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"

namespace dptrain::replica {

// Heartbeat: how far a replica's thread has got. The thread beats whenever it begins something; a Watchdog looks on.

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

/// The longest time without a beat. A step that takes longer than `seconds` as a whole is given thrice the longest so
/// far.
struct Patience {
  double seconds = 60;
  double first_seconds = 600;  ///< until the first step is done: kernels are loaded, engines are chosen, ranks connect
};

class Watchdog {
 public:
  /// `waits`: whether a lane's thread waits for another's. `stop`: tells the other replicas why; called once, on the
  /// looking thread. `clock`: in seconds.
  Watchdog(std::vector<std::string> names, const Patience& patience, std::function<bool(int lane)> waits,
           std::function<void(const std::string& why)> stop, std::function<double()> clock = now_seconds);

  Heartbeat& heart(int lane) { return seats_[static_cast<std::size_t>(lane)].heart; }
  /// Called before the process ends without its threads, to keep what can be kept.
  void set_last_words(std::function<void(const Error& why)> last_words) { last_words_ = std::move(last_words); }

  /// A command begins on all ranks; `where`: ", step 412" or "".
  void begin(const std::string& where);
  /// While it runs, every period() seconds; `busy`: per lane, whether it is still at it. Ends the process with
  /// ErrorKind::kDeadline's exit code when a thread stands still and stays so after the others were stopped.
  void look(const std::vector<bool>& busy);
  /// All have done it. What was seen standing still, and moved again after all.
  std::optional<Error> end();
  /// The first step is done.
  void warm() { warm_ = true; }

  double period() const;

 private:
  struct Seat {
    std::string name;
    Heartbeat heart;
    std::uint64_t beats = 0;
    double since = 0;  ///< when it was seen to have beaten last
  };

  double limit() const;
  [[noreturn]] void leave();

  std::deque<Seat> seats_;
  const Patience patience_;
  const std::function<bool(int lane)> waits_;
  const std::function<void(const std::string& why)> stop_;
  const std::function<double()> clock_;
  std::function<void(const Error& why)> last_words_;
  std::string where_;
  bool warm_ = false;
  double longest_ = 0, begun_ = 0;
  std::optional<Error> late_;
  double late_since_ = 0;
};

}  // namespace dptrain::replica
