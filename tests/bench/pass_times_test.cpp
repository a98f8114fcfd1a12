#include "bench/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dptrain::bench {
namespace {

const backend::CpuLimits kFourThreads{
    .threads = 4, .peak_gflops = 400, .levels = {{.name = "memory", .read_gbps = 40}}};

std::vector<std::string> pass_names(const std::vector<PassTime>& passes) {
  std::vector<std::string> names;
  for (const PassTime& pass : passes) names.push_back(pass.name);
  return names;
}

TEST(ThreadsInUse, SumAllSlotsOfAllReplicas) {
  EXPECT_EQ(threads_in_use({.replicas = 2, .threads = 3}), 6);
  EXPECT_EQ(threads_in_use({.replicas = 2, .threads = 3, .slots = 2, .slot_threads = {2, 1}}), 6);
}

TEST(PassTimes, UseTheBoundsOfTheReplicasThreads) {
  plan::Plan plan;
  plan.steps.resize(2);
  plan.steps[0].name = "a";
  plan.steps[1].name = "b";
  plan.steps[1].slot = 1;
  plan.trainable_end = 1000;
  plan.statistics_end = 2000;
  runtime::Replica::Profile profile;
  profile.steps.resize(2);
  profile.steps[0].forward = {.seconds = 0.02, .operations = 2e9, .bytes = 10, .set = 10};
  profile.steps[1].forward = {.seconds = 0.04, .operations = 2e9, .bytes = 10, .set = 10};
  profile.losses = {.seconds = 0.002, .operations = 0, .bytes = 2e7, .set = 10};
  const session::DeviceRequest devices{.replicas = 1, .threads = 4, .slots = 2, .slot_threads = {1, 3}};
  const std::vector<PassTime> passes = pass_times(
      profile, {.plan = plan, .devices = devices, .steps = 2, .states = 1, .update_ms = 0.5, .waiting_ms = 7},
      kFourThreads);
  EXPECT_THAT(pass_names(passes), ::testing::ElementsAre("a forward", "b forward", "losses and metrics", "update"));
  EXPECT_DOUBLE_EQ(passes[0].ms, 10);
  EXPECT_DOUBLE_EQ(passes[0].bound.ms, 10) << "1e9 operations a step on a quarter of the threads";
  EXPECT_DOUBLE_EQ(passes[1].bound.ms, 10.0 / 3);
  EXPECT_DOUBLE_EQ(passes[2].bound.ms, 1) << "1e7 bytes a step at a quarter of 40 GB/s";
  EXPECT_DOUBLE_EQ(passes[3].ms, 0.5);
  EXPECT_EQ(passes[3].work.bytes, 4 * 5 * 1000);
}

TEST(PassTimes, IncludeTheAllReduceOfOneProcess) {
  plan::Plan plan;
  plan.statistics_end = 1000;
  const session::DeviceRequest two{.replicas = 2, .threads = 2};
  const std::vector<PassTime> passes = pass_times({}, {.plan = plan, .devices = two, .waiting_ms = 3}, kFourThreads);
  EXPECT_THAT(pass_names(passes), ::testing::ElementsAre("all-reduce"));
  EXPECT_EQ(passes[0].ms, 3);
  EXPECT_EQ(passes[0].work.bytes, 8000);
  EXPECT_TRUE(pass_times({}, {.plan = plan, .devices = two, .processes = 2, .waiting_ms = 3}, kFourThreads).empty());
}

}  // namespace
}  // namespace dptrain::bench
