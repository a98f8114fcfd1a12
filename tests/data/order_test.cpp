#include <algorithm>
#include <array>
#include <numeric>

#include "data/fixtures.h"
#include "data/loader.h"

namespace dptrain::data {
namespace {

using Kind = Shuffle::Kind;

std::vector<std::int64_t> counting(std::int64_t n) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}
std::vector<std::int64_t> sorted(std::vector<std::int64_t> order) {
  std::sort(order.begin(), order.end());
  return order;
}

TEST(Order, EveryKindIsAPermutation) {
  for (const std::int64_t n : {1, 2, 17, 1000}) {
    EXPECT_EQ(Loader::order(n, {.kind = Kind::kNone, .buffer = 0}, 1, 0), counting(n));
    EXPECT_EQ(sorted(Loader::order(n, {.kind = Kind::kFull, .buffer = 0}, 1, 0)), counting(n));
    for (const std::int64_t buffer : {1, 2, 5, 16, 17, 5000})
      EXPECT_EQ(sorted(Loader::order(n, {.kind = Kind::kBuffer, .buffer = buffer}, 1, 0)), counting(n));
  }
}

TEST(Order, DependsOnSeedAndEpoch) {
  const auto order = [](std::uint64_t seed, std::int64_t epoch) { return Loader::order(1000, {}, seed, epoch); };
  EXPECT_EQ(order(1, 5), order(1, 5));
  EXPECT_NE(order(1, 5), order(1, 6));
  EXPECT_NE(order(1, 5), order(2, 5));
}

TEST(Order, SamplesAreUniformOverPositions) {
  std::array<std::array<int, 5>, 5> count{};
  for (std::int64_t epoch = 0; epoch < 5000; ++epoch) {
    const auto order = Loader::order(5, {}, 3, epoch);
    for (std::size_t p = 0; p < 5; ++p) ++count[p][static_cast<std::size_t>(order[p])];
  }
  for (const auto& position : count)
    for (const int times : position) EXPECT_NEAR(times, 1000, 142);  // five standard deviations of 28.3
}

TEST(Order, SmallBuffersKeepSamplesNearTheirPositions) {
  EXPECT_EQ(Loader::order(20, {.kind = Kind::kBuffer, .buffer = 1}, 1, 0), counting(20));
  const auto order = Loader::order(1000, {.kind = Kind::kBuffer, .buffer = 10}, 1, 0);
  EXPECT_NE(order, counting(1000));
  for (std::size_t p = 0; p < order.size(); ++p) EXPECT_LT(order[p], static_cast<std::int64_t>(p) + 10);
}

TEST(Order, ABufferOfAllSamplesIsAFullShuffle) {
  EXPECT_EQ(Loader::order(100, {.kind = Kind::kBuffer, .buffer = 100}, 1, 2), Loader::order(100, {}, 1, 2));
}

// Runs are repeatable on every machine and in every later version. The numbers were computed by another program from
// the definition of the generator.
TEST(Order, KeepsTheNumbersOfEarlierVersions) {
  EXPECT_EQ(Loader::order(8, {}, 42, 0), (std::vector<std::int64_t>{6, 3, 2, 4, 1, 7, 5, 0}));
}

}  // namespace
}  // namespace dptrain::data
