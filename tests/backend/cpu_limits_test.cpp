#include "backend/cpu_limits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/machine.h"

namespace dptrain::backend {
namespace {

CpuLimits some() {
  return {.threads = 4,
          .peak_gflops = 400,
          .levels = {{.name = "L1", .bytes = 4000, .read_gbps = 100, .update_gbps = 160},
                     {.name = "memory", .read_gbps = 20, .update_gbps = 16}}};
}

TEST(CpuLimits, AWorkingSetBelongsToTheNearestLevelThatFits) {
  const CpuLimits limits = some();
  EXPECT_EQ(limits.level_of(4000)->name, "L1");
  EXPECT_EQ(limits.level_of(4001)->name, "memory");
  EXPECT_EQ(CpuLimits{}.level_of(1), nullptr) << "caches of unknown size";
}

TEST(CpuLimits, TheBestRateOfALevelIsItsLimit) {
  EXPECT_EQ(some().levels[0].best_gbps(), 160);
  EXPECT_EQ(some().levels[1].best_gbps(), 20);
}

TEST(CpuLimits, ThreadsShareLimits) {
  const CpuLimits one = some().share(1);
  EXPECT_EQ(one.threads, 1);
  EXPECT_EQ(one.peak_gflops, 100);
  EXPECT_EQ(one.levels[0].bytes, 1000U);
  EXPECT_EQ(one.levels[0].update_gbps, 40);
  EXPECT_FALSE(one.levels[1].bytes);
  EXPECT_EQ(one.levels[1].read_gbps, 5);
}

TEST(CpuLimits, AreMeasuredOncePerNumberOfThreads) {
  for (const int threads : {1, 2}) {
    const CpuLimits& found = cpu_limits(threads);
    EXPECT_EQ(&found, &cpu_limits(threads));
    EXPECT_EQ(found.peak_gflops, cpu_peak_gflops(threads));
    EXPECT_EQ(found.threads, threads);
    EXPECT_TRUE(std::isfinite(found.peak_gflops) && found.peak_gflops > 0);
    EXPECT_EQ(found.levels.empty(), machine::caches().empty());
    for (const MemoryLevel& level : found.levels)
      for (const double gbps : {level.read_gbps, level.update_gbps})
        EXPECT_TRUE(std::isfinite(gbps) && gbps > 0) << level.name;
    for (std::size_t i = 1; i < found.levels.size(); ++i)
      EXPECT_LE(found.levels[i].best_gbps(), found.levels[i - 1].best_gbps()) << "nearer is not slower";
  }
}

}  // namespace
}  // namespace dptrain::backend
