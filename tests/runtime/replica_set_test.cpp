#include "runtime/replica_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <thread>

#include "runtime/independent_connector.h"
#include "runtime/sample_batch.h"

namespace dptrain::runtime {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct SetFixture {
  explicit SetFixture(int replicas, SetOptions options = {}, ToyDevice::Switches switches = {})
      : model(model_of(kToyPlainModel)), plan(toy_plan(model)) {
    if (options.weights.empty()) options.weights.assign(static_cast<std::size_t>(replicas), 1.0);
    if (options.batch_sizes.empty()) options.batch_sizes = {9};
    options.optimizer = sgd();
    set.emplace(plan, toy_devices(replicas, std::move(switches)), connector, std::move(options));
    set->push(model);
  }

  graph::Model model;
  plan::Plan plan;
  IndependentConnector connector;
  std::optional<ReplicaSet> set;
};

TEST(ReplicaSet, RunsEveryReplicaOnItsOwnThread) {
  SetFixture f(3);
  EXPECT_THAT(f.connector.attached, ElementsAre(0, 1, 2));
  std::vector<std::thread::id> first(3), second(3);
  f.set->on_each([&](int rank, Replica&) { first[static_cast<std::size_t>(rank)] = std::this_thread::get_id(); });
  f.set->on_each([&](int rank, Replica&) { second[static_cast<std::size_t>(rank)] = std::this_thread::get_id(); });
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::set<std::thread::id>(first.begin(), first.end()).size(), 3U);
}

TEST(ReplicaSet, TheFirstReplicasThreadIsTheCallers) {
  for (const bool reads_host_memory : {true, false})
    for (const int replicas : {1, 3}) {
      SetFixture f(replicas, {}, {.reads_host_memory = reads_host_memory});
      std::set<int> mine;
      std::mutex mutex;
      f.set->on_each([&, caller = std::this_thread::get_id()](int local_rank, Replica&) {
        const std::lock_guard lock(mutex);
        if (std::this_thread::get_id() == caller) mine.insert(local_rank);
      });
      EXPECT_THAT(mine, ElementsAre(0));
    }
}

TEST(ReplicaSet, PredictsRowsInOrderWhateverTheSplit) {
  const SampleBatch batch(23, 6, 3);  // more than the capacity of the replicas
  std::vector<std::vector<float>> predictions;
  StepSums sums;
  for (const int replicas : {1, 2, 5}) {
    SetFixture f(replicas, {.accumulate_steps = replicas});
    predictions.emplace_back(23 * 3);
    f.set->predict(batch.view(), predictions.back().data());
    EXPECT_EQ(predictions.back(), predictions.front()) << replicas;
    const StepSums now = f.set->evaluate(batch.view());
    EXPECT_EQ(now.samples, 23);
    if (replicas == 1) sums = now;
    EXPECT_NEAR(now.loss, sums.loss, 1e-5 * sums.loss);
    EXPECT_EQ(now.outputs.at(1), sums.outputs.at(1));
    EXPECT_EQ(now.penalty, sums.penalty);
  }
}

TEST(ReplicaSet, AProcessComputesTheSharesOfItsRanks) {
  const SampleBatch batch(11, 6, 3);
  const std::vector<double> weights{1, 1, 2};
  SetFixture whole(3, {.weights = weights, .batch_sizes = {11}});
  SetFixture first(1, {.world = World{.process = 0, .processes = 2, .first_rank = 0, .ranks = 3},
                       .weights = weights,
                       .batch_sizes = {11}});
  SetFixture second(2, {.world = World{.process = 1, .processes = 2, .first_rank = 1, .ranks = 3},
                        .weights = weights,
                        .batch_sizes = {11}});
  const StepSums a = first.set->evaluate(batch.view()), b = second.set->evaluate(batch.view());
  const StepSums all = whole.set->evaluate(batch.view());
  EXPECT_EQ(a.samples, 3);
  EXPECT_EQ(b.samples, 8);
  EXPECT_NEAR(a.loss + b.loss, all.loss, 1e-12 * all.loss);
  EXPECT_EQ(a.penalty, all.penalty);
  EXPECT_EQ(b.penalty, 0) << "counted once, by rank 0";
  EXPECT_EQ(first.connector.attached, std::set<int>{0});
  EXPECT_EQ(second.connector.attached, (std::set<int>{0, 1})) << "local ranks, not ranks";
}

TEST(ReplicaSet, MessagesNameTheRank) {
  const SampleBatch batch(9, 6, 3);
  SetFixture f(1,
               {.world = World{.process = 1, .processes = 2, .first_rank = 2, .ranks = 3},
                .weights = {1, 1, 1},
                .batch_sizes = {9}},
               {.fault = Fault{.layer = "t1", .step = 0, .backward = true}});
  try {
    f.set->step(batch.view(), {.number = 0, .learning_rate = 0.1, .global_samples = 9});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("replica 2 (toy:0), step 0"));
  }
}

TEST(ReplicaSet, RethrowsTheFirstFailureWithItsPlace) {
  const SampleBatch batch(9, 6, 3);
  SetFixture f(2, {}, {.fault = Fault{.layer = "t1", .step = 2, .backward = true}});
  for (std::int64_t number = 0; number < 2; ++number)
    f.set->step(batch.view(), {.number = number, .learning_rate = 0.1, .global_samples = 9});
  try {
    f.set->step(batch.view(), {.number = 2, .learning_rate = 0.1, .global_samples = 9});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_THAT(error.what(), ::testing::MatchesRegex("replica [01] \\(toy:[01]\\), step 2: layer t1: injected"));
  }
  ASSERT_EQ(f.connector.reasons.size(), 1U);
  EXPECT_THAT(f.connector.reasons.front(), HasSubstr("layer t1: injected"));
}

TEST(ReplicaSet, RejectsATooLargeBatch) {
  const SampleBatch batch(23, 6, 3);
  SetFixture f(2);
  try {
    f.set->step(batch.view(), {.number = 0, .learning_rate = 0.1, .global_samples = 23});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
  }
}

TEST(ReplicaSet, AShorterBatchFitsEveryReplica) {
  SetFixture f(3, {.weights = {3, 3, 1}, .batch_sizes = {11}});
  for (int rows = 11; rows > 0; --rows) {
    const SampleBatch batch(rows, 6, 3);
    EXPECT_NO_THROW(f.set->step(batch.view(), {.number = 11 - rows, .learning_rate = 0.1, .global_samples = rows}))
        << rows;
  }
}

TEST(ReplicaSet, ABalanceCutsTheBatchesThatHaveANumber) {
  const SampleBatch batch(12, 6, 3);
  const auto balance = std::make_shared<Balance>(BalanceOptions{.ranks = 2, .batch = 12, .steps = 1});
  SetFixture f(2, {.weights = {1, 1}, .balance = balance, .batch_sizes = {12}});
  SetFixture even(2, {.weights = {1, 1}, .batch_sizes = {12}});
  ASSERT_TRUE(balance->add(0, 12, std::vector{1.0, 3.0}));
  BatchView host = batch.view();
  EXPECT_EQ(f.set->share(host, 0).rows, 6) << "not a training batch";
  host.number = 0;
  EXPECT_EQ(f.set->share(host, 0).rows, 6) << "begun before the decision";
  host.number = 1;
  EXPECT_EQ(f.set->share(host, 0).rows, 9);
  EXPECT_EQ(f.set->share(host, 1).first_row, 9);
  const StepInputs in{.number = 0, .learning_rate = 0.1, .global_samples = 12};
  const StepSums moved = f.set->step(host, in), as_ever = even.set->step(batch.view(), in);
  EXPECT_EQ(moved.samples, 12);
  EXPECT_NEAR(moved.loss, as_ever.loss, 1e-6 * as_ever.loss);
}

TEST(ReplicaSet, DetectsDivergedReplicas) {
  const SampleBatch batch(9, 6, 3);
  SetFixture f(3, {.check_every = 2});
  f.set->check_equal(0);
  const auto step = [&](std::int64_t number) {
    f.set->step(batch.view(), {.number = number, .learning_rate = 0.1, .global_samples = 9});
  };
  step(0);  // before the replicas are connected
  try {
    step(1);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_THAT(
        error.what(),
        HasSubstr(
            "step 1: the parameters of replica 1 (toy:1), replica 2 (toy:2) differ from those of replica 0 (toy:0)"));
  }
}

TEST(ReplicaSet, AStepThatCannotBeRecordedRunsEagerly) {
  SetFixture f(1, {.batch_sizes = {9}}, {.refuses_to_record = true});
  const SampleBatch batch(9, 6, 3);
  for (std::int64_t number = 0; number < 6; ++number)
    EXPECT_NO_THROW(f.set->step(batch.view(), {.number = number, .learning_rate = 0.1, .global_samples = 9}));
  graph::Model alone = f.model;
  f.set->pull(alone);
  SetFixture plain(1, {.batch_sizes = {9}, .graphs = backend::Graphs::kOff});
  for (std::int64_t number = 0; number < 6; ++number)
    plain.set->step(batch.view(), {.number = number, .learning_rate = 0.1, .global_samples = 9});
  graph::Model expected = f.model;
  plain.set->pull(expected);
  EXPECT_EQ(distance(alone, expected), 0);

  SetFixture requested(1, {.batch_sizes = {9}, .graphs = backend::Graphs::kOn}, {.refuses_to_record = true});
  const auto steps = [&] {
    for (std::int64_t number = 0; number < 6; ++number)
      requested.set->step(batch.view(), {.number = number, .learning_rate = 0.1, .global_samples = 9});
  };
  EXPECT_THAT(steps, ::testing::ThrowsMessage<Error>(HasSubstr("capture refused")));
}

TEST(ReplicaSetDeathTest, OneReplicaStuckInACallIsNamedInTime) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang = [](const Timeouts& timeouts, std::int64_t step) {
    SetFixture f(1, {.timeouts = timeouts},
                 {.reads_host_memory = false, .fault = Fault{.layer = "t1", .step = step, .hangs = true}});
    f.set->set_fatal_error_handler([](const Error&) { std::fprintf(stderr, "kept\n"); });
    const SampleBatch batch(9, 6, 3);
    for (std::int64_t number = 0; number < 3; ++number)
      f.set->step(batch.view(), {.number = number, .learning_rate = 0.1, .global_samples = 9});
  };
  EXPECT_EXIT(hang({.seconds = 0.2, .first_seconds = 300}, 2), ::testing::ExitedWithCode(9),
              "kept(.|\n)*replica 0 .toy:0., step 2: no progress for 0.[0-9]+ s in forward of layer t1");
  EXPECT_EXIT(hang({.seconds = 300, .first_seconds = 0.2}, 0), ::testing::ExitedWithCode(9),
              "replica 0 .toy:0., step 0: no progress for 0.[0-9]+ s in forward of layer t1");
}

TEST(ReplicaSet, ReportsADeviceThatCannotBeMade) {
  const graph::Model model = model_of(
      "layers: [{Input: {shape: [4, 4, 1]}}, {Conv2D: {name: conv, filters: 2, kernel_size: 3}}, Flatten, "
      "{Dense: {units: 2, activation: softmax}}]");
  const plan::Plan plan = toy_plan(model);
  IndependentConnector connector;
  try {
    ReplicaSet set(plan, toy_devices(2), connector, {.weights = {1, 1}, .batch_sizes = {4}, .optimizer = sgd()});
    FAIL() << "the toy has no convolution";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::MatchesRegex("replica [01] \\(toy:[01]\\): .*conv.*"));
  }
}

}  // namespace
}  // namespace dptrain::runtime
