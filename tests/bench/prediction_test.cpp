// The performance model compared with closed forms.

#include "bench/prediction.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dptrain::bench {
namespace {

using enum SumAlgorithm;

const std::vector<SumAlgorithm> kAll{kRing, kTree, kTwoLevel, kDirect};

/// 10 ms forward, 20 backward, 1 update; three buckets of 1, 2 and 3 MB, ready at 1/2, 3/4 and the end.
StepParts parts() {
  StepParts parts;
  parts.forward = 0.010;
  parts.backward = 0.020;
  parts.update = 0.001;
  parts.buckets = {{1e6, 0.010}, {2e6, 0.015}, {3e6, 0.020}};
  return parts;
}

/// GPUs: 1 GB/s and 10 us within a node, a tenth of it and 100 us between nodes.
Cluster gpus(int ranks, int per_node) {
  return {.ranks = ranks, .per_node = per_node, .inner = {1e9, 10e-6}, .between = {1e8, 100e-6}};
}

Cluster processes(int ranks, int cores) {
  Cluster cluster = gpus(ranks, ranks);
  cluster.cores = cores;
  return cluster;
}

TEST(Prediction, OneReplicaIsItsStep) {
  for (const SumAlgorithm algorithm : kAll) {
    const Prediction one = predict(parts(), gpus(1, 8), {algorithm});
    EXPECT_DOUBLE_EQ(one.step, 0.031) << name_of(algorithm);
    EXPECT_EQ(one.communication, 0) << name_of(algorithm);
    EXPECT_EQ(one.exposed, 0) << name_of(algorithm);
  }
}

TEST(Prediction, LinksWithoutLimitHideAll) {
  Cluster cluster = gpus(64, 8);
  cluster.inner = cluster.between = {};
  for (const SumAlgorithm algorithm : {kRing, kTree, kTwoLevel})
    EXPECT_DOUBLE_EQ(predict(parts(), cluster, {algorithm}).step, 0.031) << name_of(algorithm);
}

TEST(Prediction, WithoutComputingAStepIsItsSums) {
  StepParts idle;
  idle.buckets = {{8e6, 0}, {4e6, 0}};
  // 2 * 3/4 * 12 MB at 1 GB/s, and twice 6 messages of 10 us.
  EXPECT_NEAR(predict(idle, gpus(4, 4), {kRing}).step, 0.018 + 12 * 10e-6, 1e-12);
}

TEST(Prediction, AllReduceFollowsTheEquations) {
  const double bytes = 16e6;
  const Cluster two_by_four = gpus(8, 4);  // the link of 100 MB/s is the slowest
  EXPECT_NEAR(all_reduce_seconds(kRing, two_by_four, bytes), 2 * 7.0 / 8 * 0.16 + 12 * 10e-6 + 2 * 100e-6, 1e-12);
  EXPECT_NEAR(all_reduce_seconds(kTree, two_by_four, bytes), 2 * 0.16 + 2 * (3 * 10e-6 + 100e-6), 1e-12);
  EXPECT_NEAR(all_reduce_seconds(kTwoLevel, two_by_four, bytes),
              2 * 3.0 / 4 * 0.016 + 6 * 10e-6 + 2 * 1.0 / 2 * 0.16 + 2 * 100e-6, 1e-12);
  // A process sends 3/8 of its own 16 MB within the node and 4/8 over the link that four share, twice.
  EXPECT_NEAR(all_reduce_seconds(kDirect, two_by_four, bytes), 2 * (3.0 / 8 * 0.016 + 4 * 4.0 / 8 * 0.16) + 2 * 100e-6,
              1e-12);
  EXPECT_NEAR(all_reduce_seconds(kDirect, gpus(4, 4), bytes), 2 * 3.0 / 4 * 0.016 + 2 * 10e-6, 1e-12);
}

TEST(Prediction, TreesAreFastestIfLatencyDominates) {
  const Cluster many = gpus(4096, 8);
  EXPECT_EQ(predict(parts(), many, {kRing, kTree}).algorithm, kTree);
  EXPECT_LT(all_reduce_seconds(kTree, many, 4), all_reduce_seconds(kRing, many, 4) / 20);
  StepParts large = parts();
  large.buckets.push_back({1e9, 0.020});
  EXPECT_EQ(predict(large, gpus(16, 8), {kRing, kTree}).algorithm, kRing);
}

TEST(Prediction, ASmallBucketTakesTheTimeOfItsMessages) {
  EXPECT_NEAR(all_reduce_seconds(kRing, gpus(8, 8), 4), 14 * 10e-6, 1e-8);
  EXPECT_NEAR(gather_seconds(kRing, gpus(16, 8)), 14 * 10e-6 + 100e-6, 1e-12);
  EXPECT_NEAR(gather_seconds(kDirect, gpus(4, 4)), 10e-6, 1e-12);
}

TEST(Prediction, FasterLinksAreNeverSlower) {
  for (const SumAlgorithm algorithm : kAll)
    for (const int ranks : {2, 7, 16, 100}) {
      double before = std::numeric_limits<double>::infinity();
      for (const double rate : {1e6, 1e7, 1e8, 1e9, 1e10}) {
        Cluster cluster = gpus(ranks, 4);
        cluster.between.bytes_per_second = rate;
        cluster.inner.bytes_per_second = 2 * rate;
        const double step = predict(parts(), cluster, {algorithm}).step;
        EXPECT_LT(step, before) << name_of(algorithm) << " " << ranks;
        EXPECT_GE(step, 0.031);
        before = step;
      }
    }
}

TEST(Prediction, TheLastNodeMayBeSmaller) {
  const Cluster ten = gpus(10, 8);
  EXPECT_EQ(ten.nodes(), 2);
  EXPECT_EQ(ten.in_node(), 8);
  EXPECT_EQ(gpus(3, 8).nodes(), 1);
  EXPECT_EQ(gpus(3, 8).in_node(), 3);
  EXPECT_NEAR(all_reduce_seconds(kRing, ten, 1e6), 2 * 9.0 / 10 * 0.01 + 16 * 10e-6 + 2 * 100e-6, 1e-12);
}

/// Buckets are sent in sequence; only the excess over backward is exposed.
TEST(Prediction, ExposesTransfersThatEndAfterBackward) {
  Cluster cluster = gpus(2, 2);
  cluster.inner = {4e8, 0};  // a sum of S bytes over two takes S / 400 MB/s: 2.5, 5 and 7.5 ms
  // Ready at 10, 15 and 20 ms of backward: done at 12.5, at 20, at 27.5.
  const Prediction hidden = predict(parts(), cluster, {kRing});
  EXPECT_NEAR(hidden.communication, 0.015, 1e-12);
  EXPECT_NEAR(hidden.exposed, 0.0075, 1e-12);
  EXPECT_NEAR(hidden.step, 0.031 + 0.0075, 1e-12);
  cluster.inner = {1e8, 0};  // 10, 20 and 30 ms, in sequence from 10 ms on
  EXPECT_NEAR(predict(parts(), cluster, {kRing}).exposed, 0.010 + 0.060 - 0.020, 1e-12);
}

TEST(Prediction, GathersDelayComputing) {
  StepParts normalised = parts();
  normalised.gathers = 44;
  EXPECT_NEAR(predict(normalised, gpus(2, 2), {kRing}).step - predict(parts(), gpus(2, 2), {kRing}).step, 44 * 10e-6,
              1e-12);
  EXPECT_EQ(predict(normalised, gpus(1, 2), {kRing}).step, predict(parts(), gpus(1, 2), {kRing}).step);
}

TEST(Prediction, ProcessesWithoutFreeCoresSumInsteadOfComputing) {
  const Prediction full = predict(parts(), processes(2, 2), {kDirect});
  EXPECT_NEAR(full.communication, 0.006 + 3 * 20e-6, 1e-12);
  EXPECT_NEAR(full.exposed, full.communication, 1e-12) << "nothing is hidden";
  const Prediction free = predict(parts(), processes(2, 4), {kDirect});
  EXPECT_NEAR(free.exposed, 0.003 + 20e-6, 1e-12) << "but for the last bucket";
  const Prediction half = predict(parts(), processes(2, 3), {kDirect});
  EXPECT_GT(half.exposed, free.exposed);
  EXPECT_LT(half.exposed, full.exposed);
}

TEST(Prediction, ThreadsBeyondTheCoresSlowDown) {
  EXPECT_EQ(processes(4, 2).slowdown(), 2);
  EXPECT_EQ(processes(1, 2).slowdown(), 1);
  EXPECT_EQ(processes(3, 2).slowdown(), 1.5);
  const Prediction four = predict(parts(), processes(4, 2), {kDirect});
  EXPECT_NEAR(four.compute, 2 * 0.031, 1e-12);
  EXPECT_NEAR(four.step, 2 * (0.031 + 0.009 + 3 * 20e-6), 1e-12);
  Cluster nodes = processes(8, 2);
  nodes.per_node = 2;
  EXPECT_EQ(nodes.slowdown(), 1) << "four nodes have cores of their own";
}

/// Measurements with more threads than cores are not slowed down again.
TEST(Prediction, CountsASlowdownInMeasurementsOnce) {
  StepParts measured = parts();
  Cluster cluster = processes(8, 2);
  measured.slowdown = cluster.inner.slowdown = 4;
  EXPECT_NEAR(predict(measured, cluster, {kDirect}).step, 0.031 + 7.0 / 4 * 0.006 + 3 * 20e-6, 1e-12);
  measured.slowdown = 2;
  EXPECT_NEAR(predict(measured, cluster, {kDirect}).compute, 0.062, 1e-12);
}

TEST(Prediction, ReplicasOfAProcessAddUpFirst) {
  Cluster local_ranks = processes(2, 8);
  local_ranks.local_ranks = 3;
  EXPECT_NEAR(all_reduce_seconds(kDirect, local_ranks, 1e6) - all_reduce_seconds(kDirect, processes(2, 8), 1e6), 2e-3,
              1e-12);
  EXPECT_EQ(local_ranks.overlap(), 1);
  local_ranks.threads = 2;
  EXPECT_EQ(local_ranks.slowdown(), 1.5);
  EXPECT_EQ(local_ranks.overlap(), 0);
}

TEST(Prediction, ScaledPartsKeepBytes) {
  const StepParts half = parts().scaled(0.5);
  EXPECT_DOUBLE_EQ(half.compute(), 0.0155);
  EXPECT_DOUBLE_EQ(half.buckets[1].ready, 0.0075);
  EXPECT_DOUBLE_EQ(half.buckets[1].bytes, 2e6);
}

}  // namespace
}  // namespace dptrain::bench
