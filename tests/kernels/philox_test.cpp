#include "kernels/philox.h"

#include <gtest/gtest.h>

#include <array>

namespace dptrain::kernels {
namespace {

struct KnownAnswer {
  PhiloxBlock counter;
  PhiloxKey key;
  PhiloxBlock expected;
};

// Published with the paper (Random123, file kat_vectors, philox4x32 with 10 rounds).
constexpr std::array<KnownAnswer, 3> kKnownAnswers = {{
    {{{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}}},
    {{{0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU}},
     {{0xffffffffU, 0xffffffffU}},
     {{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}}},
    {{{0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}},
     {{0xa4093822U, 0x299f31d0U}},
     {{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}}},
}};

TEST(Philox, GivesThePublishedAnswers) {
  for (const KnownAnswer& known : kKnownAnswers) {
    const PhiloxBlock found = philox4x32(known.counter, known.key);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(found.word[i], known.expected.word[i]);
  }
}

TEST(Philox, UniformIsInTheHalfOpenInterval) {
  EXPECT_EQ(philox_uniform(0), 0.0F);
  EXPECT_EQ(philox_uniform(0x80000000U), 0.5F);
  EXPECT_LT(philox_uniform(0xffffffffU), 1.0F);
}

}  // namespace
}  // namespace dptrain::kernels
