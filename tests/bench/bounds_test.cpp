#include "bench/bounds.h"

#include <gtest/gtest.h>

namespace dptrain::bench {
namespace {

/// 100 GFLOP/s; 1000 bytes at 50 GB/s, beyond them 10 GB/s.
const backend::CpuLimits kLimits{.threads = 1,
                                 .peak_gflops = 100,
                                 .levels = {{.name = "L1", .bytes = 1000, .read_gbps = 40, .update_gbps = 50},
                                            {.name = "memory", .read_gbps = 10, .update_gbps = 8}}};

TEST(Bound, IsTheSlowerOfOperationsAndBytes) {
  const Bound fma = bound_of({.operations = 1e9, .bytes = 1e7, .set = 1e7}, kLimits);
  EXPECT_DOUBLE_EQ(fma.ms, 10);
  EXPECT_EQ(fma.by, "fma");
  EXPECT_EQ(fma.level, "memory");
  const Bound bytes = bound_of({.operations = 1e9, .bytes = 2e8, .set = 1e7}, kLimits);
  EXPECT_DOUBLE_EQ(bytes.ms, 20);
  EXPECT_EQ(bytes.by, "memory");
}

TEST(Bound, UsesTheNearestLevelThatFits) {
  const Bound near = bound_of({.bytes = 1e6, .set = 1000}, kLimits);
  EXPECT_DOUBLE_EQ(near.ms, 0.02);
  EXPECT_EQ(near.by, "L1");
  EXPECT_DOUBLE_EQ(bound_of({.bytes = 1e6, .set = 1001}, kLimits).ms, 0.1);
}

TEST(Bound, UsesOperationsIfCachesAreUnknown) {
  backend::CpuLimits unknown = kLimits;
  unknown.levels.clear();
  const Bound bound = bound_of({.operations = 1e9, .bytes = 1e12, .set = 1}, unknown);
  EXPECT_DOUBLE_EQ(bound.ms, 10);
  EXPECT_EQ(bound.by, "fma");
  EXPECT_EQ(bound.level, "");
  EXPECT_EQ(bound_of({.bytes = 1e12}, unknown).by, "");
}

PassTime pass_of(const char* name, double ms, double bound) {
  return {.name = name, .ms = ms, .bound = {.ms = bound, .by = "fma", .level = "L1"}};
}

TEST(SlowestPasses, NamesTheThreeThatLoseMost) {
  EXPECT_EQ(passes_far_from_bounds({}), "");
  EXPECT_EQ(passes_far_from_bounds({pass_of("fast", 1, 2)}), "");
  EXPECT_EQ(
      passes_far_from_bounds({pass_of("a forward", 3, 1), pass_of("b forward", 9.5, 9),
                              pass_of("b backward", 12.345, 2.5), pass_of("update", 1, 0), pass_of("faster", 1, 4)}),
      "farthest from their bounds: b backward 12.3 ms (bound 2.5), a forward 3 ms (bound 1), update 1 ms (bound 0)");
}

TEST(Bounds, AddUpToTheNetworksLimit) { EXPECT_EQ(bound_ms({pass_of("a", 3, 1), pass_of("b", 1, 4)}), 5); }

}  // namespace
}  // namespace dptrain::bench
