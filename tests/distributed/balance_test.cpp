// Shares that change between steps do not change gradients: replicas with a Balance and uneven speeds match one replica
// with the whole batch, in one process and in several.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/index.h"
#include "distributed/bucket_sum.h"
#include "distributed/connector.h"
#include "distributed/fake_transport.h"
#include "runtime/sample_batch.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kBalancedRows = 13, kBalancedSteps = 12;
constexpr int kBalancedRanks = 3;

/// Other shares from every third batch on.
std::shared_ptr<runtime::Balance> moving_balance() {
  auto balance = std::make_shared<runtime::Balance>(
      runtime::BalanceOptions{.ranks = kBalancedRanks, .batch = kBalancedRows, .steps = 1});
  balance->set_ahead(3);
  const std::vector<std::vector<double>> times{{1, 2, 3}, {1, 5, 1}, {4, 1, 1}};
  for (std::size_t change = 0; change < times.size(); ++change) {
    const auto number = 3 * static_cast<std::int64_t>(change);
    EXPECT_TRUE(balance->add(number, kBalancedRows, times[change]));
    EXPECT_NE(balance->weights_at(number), balance->weights_at(number + 3));
  }
  return balance;
}

graph::Model balanced_training(runtime::Connector& connector, const World& world, int local_ranks,
                               const std::shared_ptr<runtime::Balance>& balance) {
  graph::Model model = model_of(kToyPlainModel);
  const plan::Plan plan = toy_plan(model, 128);
  runtime::ReplicaSet set(plan, toy_devices(local_ranks), connector,
                          {.world = world,
                           .weights = std::vector<double>(at(world.ranks), 1.0),
                           .balance = balance,
                           .batch_sizes = {kBalancedRows},
                           .optimizer = sgd(),
                           .seed = 5,
                           .check_every = 1});
  set.push(model);
  for (std::int64_t number = 0; number < kBalancedSteps; ++number) {
    const SampleBatch batch(kBalancedRows, 6, 3, static_cast<std::uint64_t>(number));
    BatchView rows = batch.view();
    if (balance) {  // only the rows that a loader of this process delivers
      rows = runtime::take(rows, runtime::share_of(world, local_ranks, balance->weights_at(number), kBalancedRows));
      rows.batch = BatchPositions{.count = kBalancedRows};
      rows.number = number;
    }
    const runtime::StepSums sums =
        set.step(rows, {.number = number, .learning_rate = 0.05, .global_samples = kBalancedRows});
    EXPECT_EQ(sums.samples, kBalancedRows);
  }
  set.pull(model);
  return model;
}

graph::Model unbalanced() {
  const std::unique_ptr<runtime::Connector> connector = make_local(1);
  return balanced_training(*connector, World::single_process(1), 1, nullptr);
}

TEST(BalanceReplicas, AreOneBigBatchWhileRowsMove) {
  const std::unique_ptr<runtime::Connector> connector = make_local(kBalancedRanks);
  EXPECT_LT(distance(unbalanced(), balanced_training(*connector, World::single_process(kBalancedRanks), kBalancedRanks,
                                                     moving_balance())),
            1e-5);
}

TEST(BalanceReplicas, OfTwoProcessesMatchOneBigBatch) {
  const graph::Model one = unbalanced();
  FakeNetwork network(2, 7);
  in_processes(network, [&](Processes& processes) {
    const RankLayout rank_layout{.process = processes.process(), .first_ranks = {0, 2, kBalancedRanks}};
    const World world{.process = rank_layout.process,
                      .processes = 2,
                      .first_rank = rank_layout.first_ranks[at(rank_layout.process)],
                      .ranks = kBalancedRanks};
    const int local_ranks = rank_layout.process == 0 ? 2 : 1;
    const auto connector = make_processes(rank_layout, processes);
    EXPECT_LT(distance(one, balanced_training(*connector, world, local_ranks, moving_balance())), 1e-5);
  });
}

TEST(BalanceReplicas, ProcessesMakeTheSameDecisions) {
  FakeNetwork network(2, 9);
  std::vector<std::vector<double>> weights(2);
  in_processes(network, [&](Processes& processes) {
    const RankLayout rank_layout{.process = processes.process(), .first_ranks = {0, 1, 2}};
    const auto connector = make_processes(rank_layout, processes);
    runtime::Balance balance({.ranks = 2, .batch = 64, .steps = 4});
    const double mine = processes.process() == 0 ? 0.5 : 1.5;
    for (std::int64_t number = 0; number < 4; ++number) {
      std::vector<double> seconds;
      for (const runtime::StepSums& sums : connector->all_sums({{.seconds = mine}})) seconds.push_back(sums.seconds);
      balance.add(number, 64, seconds);
    }
    weights[at(processes.process())] = balance.weights_at(4);
  });
  EXPECT_THAT(weights, ::testing::Each(::testing::ElementsAre(48, 16)));
}

}  // namespace
}  // namespace dptrain::distributed
