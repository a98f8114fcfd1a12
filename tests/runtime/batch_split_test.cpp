#include "runtime/batch_split.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace dptrain::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SplitRows, IsEvenToOneRowAndEarlierRanksFirst) {
  EXPECT_THAT(split_rows(512, {1, 1, 1}), ElementsAre(171, 171, 170));
  EXPECT_THAT(split_rows(2, {1, 1, 1}), ElementsAre(1, 1, 0));
  EXPECT_THAT(split_rows(0, {1, 1}), ElementsAre(0, 0));
  for (std::int64_t rows = 0; rows <= 40; ++rows)
    for (std::size_t n = 1; n <= 9; ++n) {
      const std::vector<std::int64_t> parts = split_rows(rows, std::vector<double>(n, 0.1));
      EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}), rows);
      EXPECT_TRUE(std::ranges::is_sorted(parts, std::greater{}));
      EXPECT_LE(parts.front() - parts.back(), 1);
    }
}

TEST(SplitRows, FollowsWeights) {
  EXPECT_THAT(split_rows(512, {2, 1}), ElementsAre(341, 171));
  EXPECT_THAT(split_rows(9, {2, 1}), ElementsAre(6, 3));
  EXPECT_THAT(split_rows(10, {1, 0, 1}), ElementsAre(5, 0, 5));
  EXPECT_THAT(split_rows(7, {1, 1.5, 1}), ElementsAre(2, 3, 2));
}

TEST(SplitRows, AFewRowsLessMayGiveAReplicaMore) {
  const std::vector<std::vector<double>> splits{{3, 3, 1}, {1, 0, 1}, {5, 1, 1, 1}, {1, 1, 1}, {0.01, 7, 7}};
  for (const std::vector<double>& weights : splits)
    for (std::size_t rank = 0; rank < weights.size(); ++rank) {
      std::int64_t most = 0;
      for (std::int64_t rows = 0; rows <= 200; ++rows) {
        most = std::max(most, split_rows(rows, weights)[rank]);
        EXPECT_EQ(max_rows(rows, weights, rank), most) << rows << " rows, rank " << rank;
      }
    }
  EXPECT_EQ(split_rows(11, {3, 3, 1})[2], 1);
  EXPECT_EQ(max_rows(11, {3, 3, 1}, 2), 2);
}

TEST(BatchSplit, PartsAreConsecutive) {
  EXPECT_THAT(cut({3, 7}, {2, 1, 1}), ElementsAre(RowRange{3, 3}, RowRange{6, 2}, RowRange{8, 2}));
  EXPECT_THAT(cut({3, 2}, 3), ElementsAre(RowRange{3, 1}, RowRange{4, 1}, RowRange{5, 0}));
  EXPECT_THAT(cut({3, 0}, 2), ElementsAre(RowRange{3, 0}, RowRange{3, 0}));
}

TEST(BatchSplit, RowsArePositionsWithoutMissingSamples) {
  const BatchPositions all{.count = 9}, some{.count = 9, .missing = {0, 3, 4, 8}};
  EXPECT_EQ(all.rows_at({2, 4}), (RowRange{2, 4}));
  EXPECT_EQ(some.rows(), 5);
  EXPECT_EQ(some.rows_at({0, 9}), (RowRange{0, 5}));
  EXPECT_EQ(some.rows_at({0, 3}), (RowRange{0, 2}));
  EXPECT_EQ(some.rows_at({3, 2}), (RowRange{2, 0})) << "all of a share";
  EXPECT_EQ(some.rows_at({4, 3}), (RowRange{2, 2}));
  EXPECT_EQ(some.rows_at({7, 2}), (RowRange{4, 1}));
  EXPECT_EQ(some.rows_at({9, 0}), (RowRange{5, 0}));
}

/// Processes with any numbers of replicas have the same rows in total as one process.
TEST(BatchSplit, SharesOfProcessesAreThoseOfTheirReplicas) {
  const std::vector<std::vector<double>> splits{{1, 1, 1, 1}, {3, 3, 1, 2}, {0, 1, 0, 1}};
  const std::vector<std::vector<int>> processes{{4}, {2, 2}, {1, 3}, {1, 1, 1, 1}};
  for (const std::vector<double>& weights : splits)
    for (const std::vector<int>& local_ranks : processes)
      for (std::int64_t positions = 0; positions < 20; ++positions) {
        const std::vector<RowRange> replicas = cut({0, positions}, weights);
        World world{.processes = static_cast<int>(local_ranks.size()), .ranks = 4};
        std::int64_t end = 0;
        for (const int count : local_ranks) {
          const RowRange share = share_of(world, count, weights, positions);
          EXPECT_EQ(share.first, end);
          EXPECT_EQ(share.first, replicas[static_cast<std::size_t>(world.first_rank)].first);
          EXPECT_EQ(share.end(), replicas[static_cast<std::size_t>(world.first_rank + count - 1)].end());
          end = share.end();
          ++world.process;
          world.first_rank += count;
        }
        EXPECT_EQ(end, positions);
      }
}

/// 37 positions in 8 shards, five of 5 and three of 4; each of four replicas has two.
TEST(BatchSplit, ShardsOfAProcessAreThoseOfItsReplicas) {
  const std::vector<double> even(4, 1.0);
  const World first{.processes = 2, .ranks = 4};
  const World second{.process = 1, .processes = 2, .first_rank = 1, .ranks = 4};
  EXPECT_EQ(share_of(first, 1, even, 37, 8), (RowRange{0, 10}));
  EXPECT_EQ(share_of(second, 3, even, 37, 8), (RowRange{10, 27}));
  EXPECT_EQ(share_of(second, 3, even, 3, 8), (RowRange{2, 1})) << "fewer than shards";
}

TEST(BatchSplit, TakesOnlyRowsThatAreHere) {
  const std::vector<float> values(5);
  const BatchView batch{.rows = 5, .first_row = 3, .inputs = {column(values.data())}};
  const BatchView part = take(batch, {4, 2});
  EXPECT_EQ(part.first_row, 4);
  EXPECT_EQ(part.rows, 2);
  EXPECT_EQ(part.inputs[0].as<float>(), values.data() + 1);
  EXPECT_EQ(take(batch, {8, 0}).rows, 0);
  for (const RowRange beyond : {RowRange{2, 2}, RowRange{7, 2}, RowRange{9, 0}}) {
    try {
      take(batch, beyond);
      ADD_FAILURE() << beyond.first;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInternal);
      EXPECT_THAT(error.what(), HasSubstr("of a batch of which 3 to 8 are here"));
    }
  }
}

}  // namespace
}  // namespace dptrain::runtime
