#pragma once

#include <chrono>

namespace dptrain {

/// Seconds on the steady clock, for durations only.
inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Measures from its construction or the last restart().
class Stopwatch {
 public:
  double seconds() const { return now_seconds() - start_; }
  double restart() {
    const double elapsed = seconds();
    start_ += elapsed;
    return elapsed;
  }

 private:
  double start_ = now_seconds();
};

}  // namespace dptrain
