#include "core/text.h"

#include <gtest/gtest.h>

namespace dptrain {
namespace {

TEST(PatternTest, SearchesAndReplaces) {
  const Pattern block("block_([0-9]+)/");
  EXPECT_TRUE(block.is_in("a/block_12/conv"));
  EXPECT_FALSE(block.is_in("a/block_/conv"));
  EXPECT_EQ(block.replaced("block_1/block_2/conv", "b$1."), "b1.b2.conv");
  EXPECT_EQ(block.replaced("conv", "x"), "conv");
}

TEST(PatternTest, ReportsInvalidPatterns) {
  EXPECT_THROW(Pattern("("), PatternError);
  try {
    const Pattern wrong("[a");
    FAIL();
  } catch (const PatternError& error) {
    EXPECT_STRNE(error.what(), "");
  }
}

}  // namespace
}  // namespace dptrain
