#include "session/bench.h"

#include <gtest/gtest.h>

namespace dptrain::session {
namespace {

TEST(BenchOutlook, CountsWarmUpAndRepeatsBeforeALongTime) {
  BenchRow row;
  row.devices.replicas = 1;
  row.devices.threads = 2;
  row.global_batch = 32;
  BenchOptions options;  // 20 + 3 x 100 steps
  EXPECT_EQ(bench_outlook(row, options, 0.05), "") << "16 seconds are short";
  EXPECT_EQ(bench_outlook(row, options, 0.25),
            "1x2 batch 32: 320 steps of about 0.25 s, 80 seconds in all (--warmup, --repeats, --steps)");
  EXPECT_EQ(bench_outlook(row, options, 6.123),
            "1x2 batch 32: 320 steps of about 6.12 s, 33 minutes in all (--warmup, --repeats, --steps)");
}

TEST(BenchVerdict, NamesWhatTakesTheStep) {
  BenchRow row;
  row.step_ms = 100;
  row.forward_backward_ms = 90;
  EXPECT_EQ(verdict(row, BenchData::kSynthetic),
            "compute-bound: 90 % of a step is forward and backward, 0 % waits for data, 0 % for other replicas");
  row.comm_exposed_ms = 25;
  EXPECT_EQ(verdict(row, BenchData::kSynthetic), "bound by the all-reduce: 25 % of a step waits for other replicas");
  row.data_wait_ms = 50;
  row.global_batch = 10;
  row.loader_examples_per_second = 120;
  row.workers = 1;
  EXPECT_EQ(verdict(row, BenchData::kReal),
            "input-bound: 50 % of a step waits for data; alone the network takes 200 ex/s, the loader delivers 120 (1 "
            "worker)");
}

TEST(BenchPriceOfShards, IsTheRateBesideTheRateWithout) {
  BenchRow row;
  EXPECT_EQ(price_of_shards(row), "");
  row.virtual_shards = 8;
  row.ratio_to_no_shards = 0.9;
  row.examples_per_second_without_shards = 1000;
  EXPECT_EQ(price_of_shards(row), "8 virtual shards: 0.90 of the 1000 ex/s without");
}

}  // namespace
}  // namespace dptrain::session
