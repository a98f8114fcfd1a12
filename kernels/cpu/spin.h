#pragma once

// Waiting awake: who waits for another thread a little longer than waking up takes need not sleep. Any thread.

#include <chrono>

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

}  // namespace dptrain::kernels::cpu
