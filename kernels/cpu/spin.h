#pragma once

// Brief spinning before a thread sleeps, since waking takes as long, and padding of shared variables. Any thread.

#include <chrono>
#include <cstddef>

namespace dptrain::kernels::cpu {

/// How long a waiting thread spins: longer than most gaps between two kernels, far shorter than a time slice.
inline constexpr std::chrono::microseconds kSpin{30};

inline void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

/// Returns true once `done` returns true, false after kSpin.
template <class Done>
bool spin_until(const Done& done) noexcept {
  constexpr int kPauses = 16;  // between two reads of the clock
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kPauses; ++i) {
      if (done()) return true;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

/// Alignment in bytes that avoids false sharing: processors fetch lines of 64 bytes in pairs.
inline constexpr std::size_t kCacheLinePairBytes = 128;

}  // namespace dptrain::kernels::cpu
