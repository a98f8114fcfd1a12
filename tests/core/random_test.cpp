#include "core/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <vector>

namespace dptrain {
namespace {

std::vector<std::uint32_t> draw(RandomStream stream, int n) {
  std::vector<std::uint32_t> words;
  for (int i = 0; i < n; ++i) words.push_back(stream.next_u32());
  return words;
}

// The all-zero vector of Random123's known-answer file for philox4x32-10.
TEST(RandomStream, IsPhilox) {
  EXPECT_EQ(draw(RandomStream(0, 0), 4), (std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(RandomStream, DependsOnlyOnItsArguments) {
  const auto words = draw(RandomStream(42, 7, 3, 1), 64);
  EXPECT_EQ(words, draw(RandomStream(42, 7, 3, 1), 64));
  std::set<std::uint32_t> first{words[0]};
  const std::uint64_t high = std::uint64_t{1} << 32;
  for (const auto& other : {RandomStream(43, 7, 3, 1), RandomStream(42 + high, 7, 3, 1), RandomStream(42, 8, 3, 1),
                            RandomStream(42, 7, 4, 1), RandomStream(42, 7, 3 + high, 1), RandomStream(42, 7, 3, 2)})
    EXPECT_TRUE(first.insert(draw(other, 1)[0]).second);
  EXPECT_EQ(std::set<std::uint32_t>(words.begin(), words.end()).size(), words.size());
}

TEST(RandomStream, UniformIsInHalfOpenUnitInterval) {
  RandomStream stream(1, 2);
  double sum = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const float u = stream.uniform();
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    sum += u;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));  // five standard errors
}

TEST(RandomStream, BelowHitsEveryValueEquallyOften) {
  RandomStream stream(3, 2);
  constexpr int kValues = 7, kDraws = 21000;
  std::array<int, kValues> hits{};
  for (int i = 0; i < kDraws; ++i) ++hits.at(stream.below(kValues));
  double chi_squared = 0;
  for (const int n : hits) chi_squared += std::pow(n - kDraws / kValues, 2) / (kDraws / kValues);
  EXPECT_LT(chi_squared, 22.5);  // 6 degrees of freedom: one in a thousand is above
  EXPECT_EQ(stream.below(1), 0u);
  const std::uint64_t huge = (std::uint64_t{1} << 63) + 1;  // nearly half of all draws are rejected
  for (int i = 0; i < 100; ++i) EXPECT_LT(stream.below(huge), huge);
}

TEST(RandomStream, NormalHasItsMoments) {
  RandomStream stream(4, 2);
  constexpr int kDraws = 20000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
}

}  // namespace
}  // namespace dptrain
