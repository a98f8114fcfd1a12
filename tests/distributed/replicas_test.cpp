// Many replicas with a share of the batch each match one replica with the whole batch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "distributed/connector.h"
#include "runtime/arenas.h"
#include "runtime/sample_batch.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

struct Training {
  const char* model = kToyModel;
  std::int64_t batch = 1;
  std::vector<double> weights{1};
  std::int64_t accumulate = 1;
  std::int64_t steps = 2;
  ToyDevice::Switches switches{};
};

struct Outcome {
  graph::Model model;
  std::vector<runtime::StepSums> sums;
  std::vector<std::uint64_t> hashes;
};

/// Steps with `batch` rows; the last one has fewer.
Outcome train(const Training& run) {
  Outcome outcome{.model = model_of(run.model), .sums = {}, .hashes = {}};
  const plan::Plan plan = toy_plan(outcome.model, 128);
  const int replicas = static_cast<int>(run.weights.size());
  const std::unique_ptr<runtime::Connector> connector = make_local(replicas);
  runtime::ReplicaSet set(plan, toy_devices(replicas, run.switches), *connector,
                          {.weights = run.weights,
                           .accumulate_steps = run.accumulate,
                           .batch_sizes = {run.batch, (run.batch + 1) / 2},
                           .optimizer = sgd(),
                           .seed = 5,
                           .check_every = 1});
  set.push(outcome.model);
  for (std::int64_t number = 0; number < run.steps; ++number) {
    const std::int64_t rows = number + 1 == run.steps ? (run.batch + 1) / 2 : run.batch;
    const SampleBatch batch(rows, 6, 3, static_cast<std::uint64_t>(number));
    outcome.sums.push_back(set.step(batch.view(), {.number = number, .learning_rate = 0.05, .global_samples = rows}));
  }
  set.pull(outcome.model);
  outcome.hashes.resize(run.weights.size());
  set.on_each(
      [&](int rank, runtime::Replica& r) { outcome.hashes[static_cast<std::size_t>(rank)] = r.arenas().hash(); });
  return outcome;
}

void expect_same(const Outcome& a, const Outcome& b, double tolerance) {
  EXPECT_LT(distance(a.model, b.model), tolerance);
  for (std::size_t i = 0; i < a.sums.size(); ++i) {
    EXPECT_NEAR(a.sums[i].loss, b.sums[i].loss, 1e-5 * std::abs(a.sums[i].loss));
    EXPECT_EQ(a.sums[i].outputs.at(1), b.sums[i].outputs.at(1));
    EXPECT_EQ(a.sums[i].samples, b.sums[i].samples);
    EXPECT_NEAR(a.sums[i].penalty, b.sums[i].penalty, 1e-6 * a.sums[i].penalty);
  }
}

TEST(Replicas, AreOneBigBatchForEveryBatchAndNumber) {
  for (std::int64_t batch = 1; batch <= 17; ++batch) {
    const Outcome one = train({.batch = batch});
    for (std::size_t replicas = 2; replicas <= 8; ++replicas) {
      SCOPED_TRACE(fmt::format("batch {}, {} replicas", batch, replicas));
      const Outcome many = train({.batch = batch, .weights = std::vector<double>(replicas, 1.0)});
      // Sums in another order, through normalization by small batches, which divides by small deviations.
      expect_same(one, many, 2e-4);
      EXPECT_THAT(many.hashes, ::testing::Each(many.hashes.front()));
    }
  }
}

TEST(Replicas, AreOneBigBatchForUnevenSplitsAndEmptySlices) {
  const Outcome one = train({.batch = 13, .steps = 4});
  for (const std::vector<double>& weights :
       std::vector<std::vector<double>>{{2, 1}, {1, 5}, {1, 0, 1}, {0, 1, 3, 0.25}}) {
    const Outcome many = train({.batch = 13, .weights = weights, .steps = 4});
    expect_same(one, many, 1e-4);
  }
}

TEST(Replicas, AreOneBigBatchWithAccumulation) {
  for (const std::int64_t batch : {3, 8, 17}) {
    const Outcome one = train({.model = kToyPlainModel, .batch = batch, .steps = 3});
    for (const std::int64_t accumulate : {2, 3, 5})
      for (const std::size_t replicas : {1U, 2U, 3U}) {
        SCOPED_TRACE(fmt::format("batch {}, {} replicas, {} micro-batches", batch, replicas, accumulate));
        expect_same(one,
                    train({.model = kToyPlainModel,
                           .batch = batch,
                           .weights = std::vector<double>(replicas, 1.0),
                           .accumulate = accumulate,
                           .steps = 3}),
                    1e-5);
      }
  }
}

TEST(Replicas, RepeatTheirBits) {
  const Training run{.batch = 16, .weights = {1, 1, 1}, .steps = 5};
  const Outcome a = train(run), b = train(run);
  EXPECT_EQ(a.hashes, b.hashes);
  EXPECT_THAT(a.hashes, ::testing::Each(a.hashes.front()));
}

/// Devices of which only that of `rank` has the fault.
std::vector<std::unique_ptr<backend::Device>> devices_with_fault(int replicas, int rank, const Fault& fault) {
  std::vector<std::unique_ptr<backend::Device>> devices;
  for (int r = 0; r < replicas; ++r)
    devices.push_back(
        std::make_unique<ToyDevice>(r, ToyDevice::Switches{.fault = r == rank ? std::optional(fault) : std::nullopt}));
  return devices;
}

TEST(Replicas, AFailureOfOneWakesAllOthers) {
  constexpr int kReplicas = 3;
  const graph::Model model = model_of(kToyModel);
  const plan::Plan plan = toy_plan(model, 128);
  for (int rank = 0; rank < kReplicas; ++rank)
    for (const bool backward : {false, true})
      for (const char* layer : {"first", "n1", "logits"}) {
        const std::unique_ptr<runtime::Connector> connector = make_local(kReplicas);
        runtime::ReplicaSet set(plan,
                                devices_with_fault(kReplicas, rank, {.layer = layer, .step = 1, .backward = backward}),
                                *connector, {.weights = {1, 1, 1}, .batch_sizes = {9}, .optimizer = sgd()});
        set.push(model);
        const SampleBatch batch(9, 6, 3);
        const auto message_of_step = [&](std::int64_t number) -> std::string {
          try {
            set.step(batch.view(), {.number = number, .learning_rate = 0.1, .global_samples = 9});
          } catch (const Error& error) {
            return error.what();
          }
          return "";
        };
        EXPECT_EQ(message_of_step(0), "");
        EXPECT_EQ(message_of_step(1), fmt::format("replica {0} (toy:{0}), step 1: layer {1}: injected", rank, layer));
        EXPECT_THAT(message_of_step(2), ::testing::HasSubstr("injected"));  // an aborted set stays aborted
      }
}

}  // namespace
}  // namespace dptrain::distributed
