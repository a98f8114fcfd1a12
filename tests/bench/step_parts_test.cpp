// The parts of a step: from a hand-made plan, from operations, and from a measurement.

#include "bench/prediction.h"

#include <gtest/gtest.h>

#include "bench/link_speed.h"

#include "distributed/fake_transport.h"

namespace dptrain::bench {
namespace {

/// Three steps; bucket 0 is ready after the last one's backward, bucket 1 after the first one's.
plan::Plan three_steps() {
  using Kind = plan::BackwardItem::Kind;
  plan::Plan plan;
  plan.steps.resize(3);
  plan.backward = {{.kind = Kind::kStep, .step = 2, .buckets_ready = {0}},
                   {.kind = Kind::kAccumulateTensor, .destination = 0, .source = 1},
                   {.kind = Kind::kStep, .step = 1},
                   {.kind = Kind::kStep, .step = 0, .buckets_ready = {1}}};
  plan.buckets = {{0, 100}, {100, 1000}};
  return plan;
}

TEST(StepParts, SpreadsTimeByWeight) {
  const StepParts parts = parts_of(three_steps(), {{1, 2}, {1, 3}, {1, 4}}, 0.012, 1);
  EXPECT_DOUBLE_EQ(parts.forward, 0.003);
  EXPECT_DOUBLE_EQ(parts.backward, 0.009);
  ASSERT_EQ(parts.buckets.size(), 2U);
  EXPECT_DOUBLE_EQ(parts.buckets[0].ready, 0.004);
  EXPECT_DOUBLE_EQ(parts.buckets[1].ready, 0.009);
  EXPECT_EQ(parts.buckets[0].bytes, 400);
  EXPECT_EQ(parts.buckets[1].bytes, 3600);
}

TEST(StepParts, TheLastMicroBatchSends) {
  const StepParts parts = parts_of(three_steps(), {{1, 2}, {1, 3}, {1, 4}}, 0.024, 2);
  EXPECT_DOUBLE_EQ(parts.backward, 0.009);
  EXPECT_DOUBLE_EQ(parts.forward, 0.015);
  EXPECT_DOUBLE_EQ(parts.buckets[0].ready, 0.004);
}

TEST(StepParts, StepsAreEqualWithoutWeights) {
  const StepParts parts = parts_of(three_steps(), {{}, {}, {}}, 0.006, 1);
  EXPECT_DOUBLE_EQ(parts.forward, 0.003);
  EXPECT_DOUBLE_EQ(parts.buckets[0].ready, 0.001);
}

const char* const kSmall =
    "dptrain: 1\n"
    "name: tiny\n"
    "model:\n"
    "  layers:\n"
    "    - Input: {shape: [6, 6, 3]}\n"
    "    - Conv2D: {filters: 5, kernel_size: 3}\n"
    "    - BatchNormalization\n"
    "    - Flatten\n"
    "    - Dense: {units: 3, activation: softmax}\n"
    "data: {train: {Synthetic: {samples: 40}}}\n"
    "train: {epochs: 1, batch_size: 10, loss: categorical_crossentropy, optimizer: SGD}\n";

experiment::Experiment small(const std::vector<std::string>& sets = {}) {
  return experiment::load_experiment_text(kSmall, "tiny.yaml", {sets, {}});
}

double bytes_of(const StepParts& parts) {
  double bytes = 0;
  for (const StepParts::Bucket& bucket : parts.buckets) bytes += bucket.bytes;
  return bytes;
}

TEST(StepParts, OfAGivenStepFollowThePlansOperations) {
  const session::DeviceRequest cpu{.replicas = 1, .threads = 1};
  const StepParts parts = given_parts(small(), cpu, 4, 0.5);
  EXPECT_DOUBLE_EQ(parts.compute(), 0.5);
  // Backward of the convolution has no input gradient, that of the dense layer has: less than twice forward.
  EXPECT_GT(parts.backward, parts.forward);
  EXPECT_LT(parts.backward, 2 * parts.forward);
  // 135 and 5 floats of the convolution, 240 and 3 of the dense layer, 5 per weight and statistic of the normalization,
  // each rounded up to 64.
  EXPECT_EQ(bytes_of(parts), 4.0 * (192 + 64 + 256 + 64 + 4 * 64));
  EXPECT_EQ(parts.gathers, 0);
  EXPECT_EQ(given_parts(small({"parallel.sync_batchnorm=true"}), cpu, 4, 0.5).gathers, 2);
  EXPECT_EQ(given_parts(small({"parallel.split=[3, 1]"}), cpu, 4, 0.5).compute(), 0.5) << "one replica alone";
}

TEST(StepParts, AreMeasuredConcurrently) {
  const BenchOptions options{.devices = {}, .steps = 3, .warmup = 2, .repeats = 2};
  const session::DeviceRequest cpu{.replicas = 1, .threads = 1};
  for (const int side_by_side : {1, 2}) {
    const StepParts parts = measured_parts(small(), cpu, 5, side_by_side, options);
    EXPECT_GT(parts.forward, 0);
    EXPECT_GT(parts.backward, 0);
    EXPECT_GT(parts.update, 0);
    EXPECT_GE(parts.other, 0);
    EXPECT_EQ(bytes_of(parts), bytes_of(given_parts(small(), cpu, 5, 1)));
    EXPECT_NEAR(parts.buckets.back().ready, parts.backward, 1e-12);
  }
}

TEST(LinkSpeed, FollowsFromAllReduceTimes) {
  // 1 GB/s and 20 us in sums over four processes.
  const auto speed = [](std::uint64_t bytes) {
    return LinkSpeed{.bytes = bytes, .seconds = 1.5 * static_cast<double>(bytes) / 1e9 + 2 * 20e-6};
  };
  const MessageLink link = message_link(speed(4096), speed(4 << 20), 4);
  EXPECT_NEAR(link.bytes_per_second, 1e9, 1);
  EXPECT_NEAR(link.latency, 20e-6, 1e-12);
  Cluster four;
  four.ranks = four.per_node = 4;
  four.inner = link;
  EXPECT_NEAR(all_reduce_seconds(SumAlgorithm::kDirect, four, 4 << 20), speed(4 << 20).seconds, 1e-9);
}

TEST(LinkSpeed, IsMeasuredOverProcesses) {
  test::FakeNetwork network(3);
  std::mutex mutex;
  std::vector<LinkSpeed> found;
  test::in_processes(network, [&](distributed::Processes& processes) {
    const LinkSpeed speed = measure_all_reduce(processes, 4000, 3);  // which checks the sums
    const std::lock_guard lock(mutex);
    found.push_back(speed);
  });
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].bytes, 4000U);
  EXPECT_GT(found[0].seconds, 0);
  EXPECT_EQ(found[0].seconds, found[1].seconds) << "all return the time of the slowest";
  EXPECT_EQ(found[0].seconds, found[2].seconds);
}

}  // namespace
}  // namespace dptrain::bench
