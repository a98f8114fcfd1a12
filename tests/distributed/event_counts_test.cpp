#include "distributed/event_counts.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>
#include <vector>

#include "core/error.h"

namespace dptrain::distributed {
namespace {

/// Number of times that the calling thread has slept.
long sleeps() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

void doze(int microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

TEST(EventCounts, WakesAThreadOnlyAtItsTarget) {
  constexpr std::uint64_t kTarget = 200;
  EventCounts counts;
  EventCounts::Counter counter = 0, other = 0;
  long slept = 0;
  std::thread sleeper([&] {
    const long before = sleeps();
    counts.wait(counter, kTarget);
    slept = sleeps() - before;
  });
  doze(5000);  // far longer than it polls
  for (std::uint64_t i = 0; i < kTarget; ++i) {
    counts.signal(other);
    doze(20);
    counts.signal(counter);
    doze(20);  // a woken thread has time to sleep again
  }
  sleeper.join();
  EXPECT_LT(slept, 20);  // one sleep, the mutex, and the system's own; not one per signal
}

TEST(EventCounts, WakesAllThreadsThatWaitForSeveralCounters) {
  constexpr int kThreads = 5, kRounds = 200;
  EventCounts counts;
  EventCounts::PaddedCounter counters[3];
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < kRounds; ++round) {
        EventCounts::Counter& counter = counters[round % 3].count;
        if ((round + thread) % 7 == 0) doze(200);  // the others sleep
        counts.signal(counter);
        counts.wait(counter, static_cast<std::uint64_t>((round / 3 + 1) * kThreads));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counters[0].count + counters[1].count + counters[2].count, kThreads * kRounds);
}

TEST(EventCounts, AbortWakesWaitingThreads) {
  EventCounts counts;
  EventCounts::Counter counter = 0;
  std::thread sleeper([&] { EXPECT_THROW(counts.wait(counter, 1), Error); });
  doze(2000);
  counts.abort("replica 3");
  sleeper.join();
  EXPECT_THROW(counts.wait(counter, 1), Error);
}

}  // namespace
}  // namespace dptrain::distributed
