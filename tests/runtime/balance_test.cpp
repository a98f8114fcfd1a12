// Shares that follow the replicas' speed: their limits, when they do not change, and when a decision is kept.

#include "runtime/balance.h"

#include <gmock/gmock.h>

#include <numeric>
#include <random>

namespace dptrain::runtime {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Le;

std::vector<std::int64_t> rows_of(const Balance& balance, std::int64_t number) {
  const std::vector<double> weights = balance.weights_at(number);
  return {weights.begin(), weights.end()};
}

std::int64_t rows_in(const std::vector<std::int64_t>& shares) {
  return std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
}

/// Replicas with a time per row, and a fixed time per step.
struct Machine {
  std::vector<double> seconds_per_row;
  double fixed = 0, noise = 0;
  std::mt19937 random{7};
  std::int64_t number = 0;
  int decisions = 0;

  void run(Balance& balance, int steps) {
    std::uniform_real_distribution<double> factor(1, 1 + noise);
    for (int i = 0; i < steps; ++i, ++number) {
      const std::vector<std::int64_t> rows = rows_of(balance, number);
      std::vector<double> seconds;
      for (std::size_t r = 0; r < rows.size(); ++r)
        seconds.push_back((fixed + static_cast<double>(rows[r]) * seconds_per_row[r]) * factor(random));
      if (balance.add(number, rows_in(rows), seconds)) ++decisions;
    }
  }
};

TEST(Balance, SettlesWhereAllTakeTheSameTime) {
  Balance balance({.ranks = 2, .batch = 512});
  Machine machine{{1e-5, 2e-5}, 1e-4};
  machine.run(balance, 200);
  const auto rows = rows_of(balance, machine.number + 10);
  EXPECT_EQ(rows[0] + rows[1], 512);
  EXPECT_NEAR(static_cast<double>(rows[0]), 341, 12);
  EXPECT_LE(machine.decisions, 3);
}

TEST(Balance, RestoresSharesWhenTheMachineIsFree) {
  Balance balance({.ranks = 2, .batch = 512});
  Machine machine{{1e-5, 2e-5}};
  machine.run(balance, 100);
  machine.seconds_per_row = {1e-5, 1e-5};
  machine.run(balance, 100);
  EXPECT_NEAR(static_cast<double>(rows_of(balance, machine.number + 10)[0]), 256, 10);
}

TEST(Balance, NoiseAndSingleSlowStepsMoveNothing) {
  Balance balance({.ranks = 4, .batch = 256});
  Machine machine{{1e-5, 1e-5, 1e-5, 1e-5}, 0, 0.05};
  for (int k = 0; k < 50; ++k) {
    machine.run(balance, 10);
    const std::vector<double> slow{1, 1e-3, 1e-3, 1e-3};
    EXPECT_FALSE(balance.add(machine.number++, 256, slow));
  }
  EXPECT_EQ(machine.decisions, 0);
  EXPECT_THAT(rows_of(balance, 1'000'000), Each(64));
}

TEST(Balance, KeepsSharesWithinTheirLimits) {
  Balance balance({.ranks = 4, .batch = 64});
  Machine machine{{1e-7, 1e-3, 1e-3, 1e-3}};
  machine.run(balance, 400);
  const auto rows = rows_of(balance, machine.number + 10);
  EXPECT_THAT(rows, Each(Le(balance.max_rows())));
  EXPECT_THAT(rows, Each(testing::Ge(2)));
  EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}), 64);
  EXPECT_EQ(balance.max_rows(), 32);
}

TEST(Balance, DecisionsApplyFromABatchNotYetBegun) {
  Balance balance({.ranks = 2, .batch = 100, .steps = 4});
  balance.set_ahead(6);
  std::optional<NewShares> shares;
  for (std::int64_t number = 0; number < 4; ++number) shares = balance.add(number, 100, std::vector{1.0, 3.0});
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->from, 9);
  EXPECT_THAT(shares->rows, ElementsAre(75, 25));
  EXPECT_THAT(rows_of(balance, 8), ElementsAre(50, 50));
  EXPECT_THAT(rows_of(balance, 9), ElementsAre(75, 25));
  // Steps with the previous shares do not count for the new ones.
  for (std::int64_t number = 4; number < 9; ++number) EXPECT_FALSE(balance.add(number, 100, std::vector{1.0, 3.0}));
  for (std::int64_t number = 9; number < 13; ++number) EXPECT_FALSE(balance.add(number, 100, std::vector{1.5, 1.5}));
}

TEST(Balance, IgnoresShortBatches) {
  Balance balance({.ranks = 2, .batch = 100, .steps = 2});
  for (std::int64_t number = 0; number < 20; ++number) EXPECT_FALSE(balance.add(number, 7, std::vector{1.0, 3.0}));
}

TEST(Balance, DecidesAgainAfterARunGoesBack) {
  Balance balance({.ranks = 2, .batch = 100, .steps = 4});
  for (std::int64_t number = 1000; number < 1004; ++number) balance.add(number, 100, std::vector{1.0, 3.0});
  EXPECT_THAT(rows_of(balance, 1004), ElementsAre(75, 25));
  for (std::int64_t number = 10; number < 14; ++number) balance.add(number, 100, std::vector{1.0, 1.0});
  EXPECT_THAT(rows_of(balance, 1004), ElementsAre(50, 50));
}

TEST(Balance, ABatchSmallerThanTheReplicasKeepsItsRows) {
  Balance balance({.ranks = 4, .batch = 3, .steps = 1});
  const std::vector<double> seconds{1, 1, 1, 5};
  for (std::int64_t number = 0; number < 4; ++number) EXPECT_FALSE(balance.add(number, 3, seconds));
  const auto rows = rows_of(balance, 9);
  EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}), 3);
}

}  // namespace
}  // namespace dptrain::runtime
