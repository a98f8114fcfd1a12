#pragma once

// How what the machine can do is measured: all threads of the calling thread do the same at once, as they do in a
// kernel, for cores share a clock, caches and memory. Measuring threads wait for one another awake.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "kernels/cpu/parallel.h"

namespace dptrain::kernels::cpu {

/// Calls f(slot) once on each thread of the calling thread, slots being [0, thread_count()); all begin together.
/// Seconds from there to the end of the last. Not from within a piece.
template <class F>
double seconds_side_by_side(const F& f) {
  using Clock = std::chrono::steady_clock;
  const int threads = thread_count();
  std::vector<Clock::time_point> begin(static_cast<std::size_t>(threads)), end(begin);
  std::atomic<int> missing{threads};
  parallel_slots(threads, [&](int64_t, int slot) {  // a piece waits for all: each thread has one
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
