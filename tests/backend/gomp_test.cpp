// The functions of libgomp that oneDNN calls are those of the executable, on the pool of kernels/cpu.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "kernels/cpu/parallel.h"

extern "C" {
int omp_get_max_threads();
int omp_get_num_threads();
int omp_get_thread_num();
int omp_in_parallel();
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_barrier();
}

namespace dptrain::backend::cpu {
namespace {

struct Seen {
  std::array<std::atomic<int>, 4> calls{};
  std::atomic<int> threads = 0, failures = 0;
  std::array<int, 4> values{};  // not atomic: the barriers alone order the accesses
};

void count(void* data) {
  auto& seen = *static_cast<Seen*>(data);
  ++seen.calls[static_cast<size_t>(omp_get_thread_num())];
  seen.threads = omp_get_num_threads();
  if (omp_in_parallel() != (omp_get_num_threads() > 1)) ++seen.failures;
}

/// Every thread writes its number and, after a barrier, adds those of all.
void exchange(void* data) {
  auto& seen = *static_cast<Seen*>(data);
  const auto self = static_cast<size_t>(omp_get_thread_num());
  for (int round = 1; round <= 50; ++round) {
    seen.values[self] = round * omp_get_thread_num();
    GOMP_barrier();
    int sum = 0;
    for (const int value : seen.values) sum += value;
    if (sum != round * 3) ++seen.failures;  // 0 + 1 + 2
    GOMP_barrier();
  }
}

class Gomp : public testing::Test {
 protected:
  void SetUp() override { kernels::cpu::set_thread_count(3); }
  void TearDown() override { kernels::cpu::set_thread_count(1); }
};

TEST_F(Gomp, LibrariesFindTheseFunctionsFirst) {
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "GOMP_parallel"), reinterpret_cast<void*>(&GOMP_parallel));
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "omp_get_thread_num"), reinterpret_cast<void*>(&omp_get_thread_num));
}

TEST_F(Gomp, ARegionRunsOnceForEachOfItsThreads) {
  EXPECT_EQ(omp_get_max_threads(), 3);
  for (const unsigned asked : {0U, 1U, 2U, 3U, 8U}) {
    Seen seen;
    GOMP_parallel(count, &seen, asked, 0);
    const int threads = asked == 0 || asked > 3 ? 3 : static_cast<int>(asked);
    EXPECT_EQ(seen.threads, threads);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(seen.calls[static_cast<size_t>(i)], i < threads ? 1 : 0);
    EXPECT_EQ(seen.failures, 0);
  }
  EXPECT_EQ(omp_get_num_threads(), 1);
  EXPECT_EQ(omp_in_parallel(), 0);
}

TEST_F(Gomp, BarriersHoldAllThreadsOfARegion) {
  Seen seen;
  GOMP_parallel(exchange, &seen, 3, 0);
  EXPECT_EQ(seen.failures, 0);
}

TEST_F(Gomp, ANestedRegionHasOneThread) {
  std::array<Seen, 4> seen;
  kernels::cpu::parallel_for(
      4, [&](std::int64_t piece) { GOMP_parallel(count, &seen[static_cast<size_t>(piece)], 3, 0); });
  for (const Seen& one : seen) {
    EXPECT_EQ(one.threads, 1);
    EXPECT_EQ(one.calls[0], 1);
  }
}

}  // namespace
}  // namespace dptrain::backend::cpu
