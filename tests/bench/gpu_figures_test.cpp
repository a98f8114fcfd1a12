#include "bench/paper_step.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace dptrain::bench {
namespace {

/// 1000 bytes, 100, 200 and 400 operations a second; a half of each is reached.
const GpuFigures kFigures{.name = "slow", .bytes = 1000, .float32 = 100, .tf32 = 200, .sixteen_bit = 400};
const GpuShares kShares{.bytes = 0.5,
                        .vector = 0.5,
                        .strict = 0.25,
                        .tf32 = 0.5,
                        .sixteen_bit = 0.5,
                        .launch_seconds = 1,
                        .eager_launch_seconds = 3};

GpuTime time_of(double operations, double bytes, int launches, GpuUnits units) {
  return gpu_time({.operations = operations, .bytes = bytes, .set = bytes}, launches, units, kFigures, kShares);
}

TEST(GpuTime, IsThatOfTheSlowerOfOperationsAndBytesAndOfTheLaunches) {
  const GpuTime products = time_of(1000, 1000, 2, GpuUnits::kTf32);
  EXPECT_DOUBLE_EQ(products.seconds, 1000 / 100. + 2);
  EXPECT_EQ(products.by, "products");
  const GpuTime memory = time_of(1000, 10'000, 2, GpuUnits::kTf32);
  EXPECT_DOUBLE_EQ(memory.seconds, 10'000 / 500. + 2);
  EXPECT_EQ(memory.by, "memory");
  const GpuTime launches = time_of(100, 100, 2, GpuUnits::kTf32);
  EXPECT_DOUBLE_EQ(launches.seconds, 1 + 2);
  EXPECT_EQ(launches.by, "launches");
}

TEST(GpuTime, TakesThePeakOfTheUnits) {
  EXPECT_DOUBLE_EQ(time_of(1000, 0, 0, GpuUnits::kVector).seconds, 20);
  EXPECT_EQ(time_of(1000, 0, 0, GpuUnits::kVector).by, "vectors");
  EXPECT_DOUBLE_EQ(time_of(1000, 0, 0, GpuUnits::kStrict).seconds, 40);
  EXPECT_DOUBLE_EQ(time_of(1000, 0, 0, GpuUnits::kSixteenBit).seconds, 5);
  EXPECT_EQ(time_of(0, 0, 0, GpuUnits::kSixteenBit).seconds, 0);
}

TEST(GpuFigures, AreThoseOfTheDataSheets) {
  EXPECT_EQ(gpu_figures("h100").bytes, 3.35e12);
  EXPECT_EQ(gpu_figures("h200").bytes, 4.8e12);
  EXPECT_EQ(gpu_figures("h200").sixteen_bit, 989e12) << "the same chip";
  EXPECT_EQ(gpu_figures("h200").name, "NVIDIA H200");
  EXPECT_THROW(gpu_figures("h300"), Error);
}

TEST(GpuShares, AreShares) {
  const GpuShares& shares = gpu_shares();
  for (const double share : {shares.bytes, shares.vector, shares.strict, shares.tf32, shares.sixteen_bit}) {
    EXPECT_GT(share, 0);
    EXPECT_LE(share, 1);
  }
}

}  // namespace
}  // namespace dptrain::bench
