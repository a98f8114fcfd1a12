#include "kernels/cpu/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

TEST(Parallel, CoversEveryElementOnce) {
  for (const int threads : {1, 2, 5}) {
    test::use_threads(threads);
    for (const int64_t count : {0, 1, 6, 7, 8, 50}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      parallel_ranges(count, 7, [&](int64_t begin, int64_t end) {
        EXPECT_EQ(begin % 7, 0);
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      for (const std::atomic<int>& times : seen) EXPECT_EQ(times, 1);
    }
  }
  test::use_threads(1);
}

TEST(Parallel, UsesEachSlotByOneThreadAtATime) {
  for (const int threads : {1, 3}) {
    test::use_threads(threads);
    std::vector<std::atomic<int>> users(static_cast<size_t>(thread_count()));
    std::vector<std::atomic<int>> seen(200);
    parallel_slots(200, [&](int64_t piece, int slot) {
      EXPECT_EQ(users[static_cast<size_t>(slot)]++, 0);
      ++seen[static_cast<size_t>(piece)];
      --users[static_cast<size_t>(slot)];
    });
    for (const std::atomic<int>& times : seen) EXPECT_EQ(times, 1);
  }
  test::use_threads(1);
}

TEST(Parallel, RunsOnTheCallersThreadIfSingleThreaded) {
  test::use_threads(1);
  int calls = 0;  // not atomic: ThreadSanitizer would report a second thread
  parallel_for(100, [&](int64_t) { ++calls; });
  EXPECT_EQ(calls, 100);
}

TEST(Parallel, BoundsThePartialsOfAReduction) {
  for (const int64_t rows : {1, 64, 65, 4097, 10'000'000})
    for (const int64_t width : {1, 10, 100'000}) {
      const int64_t size = rows_per_partial(rows, width);
      EXPECT_GE(size, 1);
      EXPECT_LE(pieces_of(rows, size), kMaxPartials);
    }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
