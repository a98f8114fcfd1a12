#pragma once

// Measures what the machine can do with all threads of the calling thread busy, as in a kernel: cores share a clock,
// caches and memory. The measuring threads busy-wait for one another.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "kernels/cpu/parallel.h"

namespace dptrain::kernels::cpu {

/// Calls f(slot) once on each thread of the calling thread, slots being [0, thread_count()), all starting together;
/// returns seconds until the last one ends. Must not be called within a piece.
template <class F>
double seconds_on_all_threads(const F& f) {
  using Clock = std::chrono::steady_clock;
  const int threads = thread_count();
  std::vector<Clock::time_point> begin(static_cast<std::size_t>(threads)), end(begin);
  std::atomic<int> missing{threads};
  parallel_slots(threads, [&](int64_t, int slot) {  // a piece waits for all others, so each thread has one
    missing.fetch_sub(1);
    while (missing.load() > 0) std::this_thread::yield();
    begin[static_cast<std::size_t>(slot)] = Clock::now();
    f(slot);
    end[static_cast<std::size_t>(slot)] = Clock::now();
  });
  return std::chrono::duration<double>(*std::max_element(end.begin(), end.end()) -
                                       *std::min_element(begin.begin(), begin.end()))
      .count();
}

}  // namespace dptrain::kernels::cpu
