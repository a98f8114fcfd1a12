#include "bench/bench.h"

#include <gtest/gtest.h>

namespace dptrain::bench {
namespace {

TEST(BenchEstimate, CountsWarmUpAndRepeatsBeforeALongTime) {
  BenchRow row;
  row.devices.replicas = 1;
  row.devices.threads = 2;
  row.global_batch = 32;
  BenchOptions options;  // 20 + 3 x 100 steps
  EXPECT_EQ(bench_estimate(row, options, 0.05), "") << "16 seconds are short";
  EXPECT_EQ(bench_estimate(row, options, 0.25),
            "1x2 batch 32: 320 steps of about 0.25 s, 80 seconds in all (--warmup, --repeats, --steps)");
  EXPECT_EQ(bench_estimate(row, options, 6.123),
            "1x2 batch 32: 320 steps of about 6.12 s, 33 minutes in all (--warmup, --repeats, --steps)");
}

TEST(BenchVerdict, NamesTheLargestPartOfTheStep) {
  BenchRow row;
  row.step_ms = 100;
  row.forward_backward_ms = 90;
  EXPECT_EQ(verdict(row, BenchData::kSynthetic),
            "compute-bound: 90 % of a step is forward and backward, 0 % waits for data, 0 % for other replicas");
  row.comm_exposed_ms = 25;
  EXPECT_EQ(verdict(row, BenchData::kSynthetic),
            "bound by the all-reduce: 25 % of a step waits for other replicas; a larger batch or fewer replicas help");
  row.data_wait_ms = 50;
  row.global_batch = 10;
  row.loader_examples_per_second = 120;
  row.workers = 1;
  EXPECT_EQ(verdict(row, BenchData::kReal),
            "input-bound: 50 % of a step waits for data; more data.loader.workers help; the network alone reaches 200 "
            "samples/s, the loader alone 120 (1 worker)");
}

TEST(BenchVerdict, NamesThePassesFarthestFromTheirBounds) {
  BenchRow row;
  row.step_ms = 100;
  row.forward_backward_ms = 90;
  row.passes = {{.name = "conv backward", .ms = 3, .bound = {.ms = 1.5, .by = "fma", .level = "L1"}}};
  EXPECT_EQ(verdict(row, BenchData::kSynthetic),
            "compute-bound: 90 % of a step is forward and backward, 0 % waits for data, 0 % for other replicas; "
            "farthest from their bounds: conv backward 3 ms (bound 1.5)");
}

constexpr const char* kTiny =
    "dptrain: 1\n"
    "name: tiny\n"
    "model:\n"
    "  layers:\n"
    "    - Input: {shape: [6, 6, 3]}\n"
    "    - Conv2D: {name: conv, filters: 5, kernel_size: 3}\n"
    "    - Flatten\n"
    "    - Dense: {name: out, units: 3, activation: softmax}\n"
    "data: {train: {Synthetic: {samples: 40}}}\n"
    "train: {epochs: 1, batch_size: 10, loss: categorical_crossentropy, optimizer: Adam}\n";

BenchRow tiny(bool layers, session::DeviceRequest devices) {
  const auto experiment = experiment::load_experiment_text(kTiny, "tiny.yaml", {});
  return bench(experiment, {.devices = std::move(devices), .steps = 2, .warmup = 2, .repeats = 2, .layers = layers});
}

/// A convolution of 4x4 positions, 27 taps and 5 filters without an input gradient in backward; a Dense layer from 80
/// to 3.
constexpr double kOperations = 2.0 * (16 * 27 * 5 * 2 + 80 * 3 * 3);

TEST(Bench, ComparesItsOperationsWithThePeak) {
  for (const int replicas : {1, 2}) {
    const BenchRow row = tiny(false, {.replicas = replicas, .threads = 1});
    ASSERT_TRUE(row.of_peak);
    EXPECT_GT(row.peak_gflops, 0);
    EXPECT_NEAR(*row.of_peak * row.peak_gflops * 1e9, kOperations * row.examples_per_second,
                1e-6 * kOperations * row.examples_per_second);
    EXPECT_TRUE(row.passes.empty());
  }
}

TEST(Bench, ReportsABoundForEveryPass) {
  const BenchRow row = tiny(true, {.replicas = 1, .threads = 1});
  std::vector<std::string> names;
  double operations = 0;
  for (const PassTime& pass : row.passes) {
    names.push_back(pass.name);
    operations += pass.work.operations;
    EXPECT_GT(pass.ms, 0) << pass.name;
    EXPECT_GT(pass.work.bytes, 0) << pass.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"conv forward", "conv backward", "out forward", "out backward",
                                             "losses and metrics", "update"}));
  EXPECT_DOUBLE_EQ(operations, 10 * kOperations);
  // Ten rows of 108 in, of 80 out, and 140 weights.
  EXPECT_EQ(row.passes[0].work.bytes, 4 * (1080 + 800 + 140));
}

TEST(Bench, HasNoPeakForAGpu) {
  session::DeviceRequest emulated = session::request_of({{backend::DeviceKind::kEmu, 0}});
  const BenchRow row = tiny(true, emulated);
  EXPECT_FALSE(row.of_peak);
  EXPECT_TRUE(row.passes.empty());
  EXPECT_FALSE(row.layers.empty());
}

TEST(BenchShardOverhead, ComparesTheRatesWithAndWithout) {
  BenchRow row;
  EXPECT_EQ(shard_overhead(row), "");
  row.virtual_shards = 8;
  row.ratio_to_no_shards = 0.9;
  row.examples_per_second_without_shards = 1000;
  EXPECT_EQ(shard_overhead(row), "8 virtual shards: 0.90 of the 1,000 samples/s without");
}

}  // namespace
}  // namespace dptrain::bench
