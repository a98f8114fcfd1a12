#pragma once

// How threads wait for one another: awake for a short time, because to wake a thread takes as long; and the distance
// between words that several threads write. Any thread.

#include <chrono>
#include <cstddef>

namespace dptrain::kernels::cpu {

/// How long who waits stays awake: longer than most gaps between two kernels, shorter than a time slice by far.
inline constexpr std::chrono::microseconds kSpin{30};

inline void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

/// True as soon as `done` is, false when it was not for kSpin.
template <class Done>
bool spin_until(const Done& done) noexcept {
  constexpr int kPauses = 16;  // between two looks at the clock
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kPauses; ++i) {
      if (done()) return true;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

/// How far words are apart that several threads write, so that none waits for another's cache line: processors fetch
/// lines of 64 bytes in pairs. Bytes; for alignas.
inline constexpr std::size_t kApart = 128;

}  // namespace dptrain::kernels::cpu
