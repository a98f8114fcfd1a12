#include "kernels/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <thread>
#include <vector>

#include "kernels/cpu/parallel.h"
#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

/// Number of threads of this process.
int threads_alive() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

/// Waits until this process has `count` threads; the system lists a joined thread for a short while.
bool wait_for_threads_alive(int count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (threads_alive() != count) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(ThreadPool, JobsAndCallerSeeEachOthersWrites) {
  for (const int threads : {2, 3, 7}) {
    set_thread_count(threads);
    EXPECT_EQ(thread_count(), threads);
    std::vector<int64_t> values(40, 0);  // not atomic: only the pool orders the accesses
    std::vector<int64_t> expected(values);
    for (int64_t round = 1; round <= 2000; ++round) {
      const int64_t pieces = 1 + round % 40;
      parallel_for(pieces, [&](int64_t piece) { values[static_cast<size_t>(piece)] += round * (piece + 1); });
      for (int64_t piece = 0; piece < pieces; ++piece) expected[static_cast<size_t>(piece)] += round * (piece + 1);
      ASSERT_EQ(values, expected) << "round " << round;
    }
  }
  set_thread_count(1);
}

/// Returns only if `threads` threads take part.
void wait_in_all_pieces(int threads) {
  std::atomic<int> arrived = 0;
  parallel_for(threads, [&](int64_t) {
    ++arrived;
    while (arrived < threads) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, threads);
}

TEST(ThreadPool, WakesSleepingHelpers) {
  for (const int threads : {3, 40}) {  // 40: threads that the caller wakes wake further ones
    set_thread_count(threads);
    for (int round = 0; round < 20; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // much longer than they spin
      wait_in_all_pieces(threads);
    }
  }
  set_thread_count(1);
}

TEST(ThreadPool, UsesAThreadPerPiece) {
  set_thread_count(9);
  for (int round = 0; round < 300; ++round) {
    wait_in_all_pieces(2 + round * 5 % 8);
    if (round % 10 == 0) std::this_thread::sleep_for(std::chrono::microseconds(round));  // about as long as they spin
  }
  set_thread_count(1);
}

TEST(ThreadPool, UsesFewThreadsForFewPieces) {
  set_thread_count(6);
  for (int round = 0; round < 500; ++round) {
    const int pieces = round % 3 == 0 ? 6 : 2;  // the other threads are awake
    std::array<int, 6> slot_of{};
    parallel_slots(pieces, [&](int64_t piece, int slot) { slot_of[static_cast<size_t>(piece)] = slot; });
    for (int piece = 0; piece < pieces; ++piece) ASSERT_LT(slot_of[static_cast<size_t>(piece)], pieces);
  }
  set_thread_count(1);
}

TEST(ThreadPool, TheCallerSleepsUntilALatePieceIsDone) {
  set_thread_count(2);
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> started = 0;
    int done = 0;  // not atomic, as above
    parallel_slots(2, [&](int64_t, int slot) {
      ++started;
      while (started < 2) std::this_thread::yield();
      if (slot == 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      done = 1;
    });
    EXPECT_EQ(done, 1);
  }
  set_thread_count(1);
}

TEST(ThreadPool, RunsNestedWorkOnTheThreadOfThePiece) {
  set_thread_count(3);
  std::array<std::atomic<int>, 12> calls{};
  parallel_for(4, [&](int64_t piece) {
    EXPECT_TRUE(inside_piece());
    const std::thread::id self = std::this_thread::get_id();
    parallel_slots(3, [&](int64_t inner, int slot) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      EXPECT_EQ(slot, 0);
      ++calls[static_cast<size_t>(piece * 3 + inner)];
    });
    EXPECT_TRUE(inside_piece());
  });
  for (const std::atomic<int>& times : calls) EXPECT_EQ(times, 1);
  EXPECT_FALSE(inside_piece());
  set_thread_count(1);
}

TEST(ThreadPool, EachThreadStartsWithItsOwnPieces) {
  set_thread_count(3);
  for (int round = 0; round < 20; ++round) {
    std::array<std::atomic<int64_t>, 3> first = {-1, -1, -1};
    run_pieces(
        9,
        [](const void* work, int64_t piece, int slot) {
          auto& of_slot = *static_cast<std::array<std::atomic<int64_t>, 3>*>(const_cast<void*>(work));
          int64_t none = -1;
          of_slot[static_cast<size_t>(slot)].compare_exchange_strong(none, piece);
          for (const auto& other : of_slot)  // returns only if three threads take part
            while (other < 0) std::this_thread::yield();
        },
        &first);
    EXPECT_EQ(first[0], 0);
    EXPECT_EQ(first[1], 3);
    EXPECT_EQ(first[2], 6);
  }
  set_thread_count(1);
}

TEST(ThreadPool, CallersHaveSeparateHelpers) {
  std::vector<std::thread> callers;
  std::array<int64_t, 4> sums{};
  for (size_t caller = 0; caller < sums.size(); ++caller)
    callers.emplace_back([&, caller] {
      EXPECT_EQ(thread_count(), 1);  // thread counts are per thread
      set_thread_count(1 + static_cast<int>(caller));
      std::array<int64_t, 100> squares{};
      for (int round = 0; round < 200; ++round) {
        parallel_for(100, [&](int64_t piece) { squares[static_cast<size_t>(piece)] = piece * piece; });
        sums[caller] += std::accumulate(squares.begin(), squares.end(), int64_t{0});
      }
    });
  for (std::thread& caller : callers) caller.join();
  for (const int64_t sum : sums) EXPECT_EQ(sum, 200 * 328350);
}

TEST(ThreadPool, HelpersEndWithTheirCaller) {
  set_thread_count(1);
  int with_caller = 0;  // counted in the caller, as ThreadSanitizer starts a thread with the first one
  std::thread caller([&] {
    with_caller = threads_alive();
    set_thread_count(4);
    EXPECT_TRUE(wait_for_threads_alive(with_caller + 3)) << threads_alive();
    set_thread_count(2);
    EXPECT_TRUE(wait_for_threads_alive(with_caller + 1)) << threads_alive();
    set_thread_count(3);
    parallel_for(10, [](int64_t) {});
  });
  caller.join();
  EXPECT_TRUE(wait_for_threads_alive(with_caller - 1)) << threads_alive();
}

}  // namespace
}  // namespace dptrain::kernels::cpu
