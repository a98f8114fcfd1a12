#include "core/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace dptrain {
namespace {

std::string lists(int depth) {
  const auto count = static_cast<std::size_t>(depth);
  return std::string(count, '[') + std::string(count, ']');
}

TEST(JsonDepth, CountsOpenArraysAndObjects) {
  EXPECT_FALSE(json_nests_deeper("", 0));
  EXPECT_FALSE(json_nests_deeper("3.5", 0));
  EXPECT_TRUE(json_nests_deeper("[]", 0));
  EXPECT_FALSE(json_nests_deeper(R"({"a": [1, 2], "b": {}})", 2));
  EXPECT_TRUE(json_nests_deeper(R"({"a": [1, {}]})", 2));
  EXPECT_FALSE(json_nests_deeper("[[], [], [], []]", 2)) << "side by side is not deep";
}

TEST(JsonDepth, IgnoresBracketsInsideStrings) {
  EXPECT_FALSE(json_nests_deeper(R"(["[[[[", "{{{{"])", 1));
  EXPECT_FALSE(json_nests_deeper(R"(["\"[[[["])", 1)) << "the escaped quote ends no string";
  EXPECT_TRUE(json_nests_deeper(R"(["\\", [[]]])", 2)) << "the escaped backslash does not hide the quote";
  EXPECT_FALSE(json_nests_deeper("[\"never closed [[[[\\", 1));
}

TEST(JsonDepth, UnmatchedClosingBracketsDoNotReduceTheDepth) {
  EXPECT_FALSE(json_nests_deeper("]]]]", 1));
  EXPECT_TRUE(json_nests_deeper("]]]][[", 1));
}

TEST(JsonDepth, RejectsWithKindAndLocation) {
  EXPECT_EQ(shallow_json(lists(kDeepestJson), ErrorKind::kCheckpoint, "'a.h5': its state"), lists(kDeepestJson));
  try {
    shallow_json(lists(65000), ErrorKind::kCheckpoint, "'a.h5': its state");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    EXPECT_EQ(std::string(error.what()).find("'a.h5': its state is JSON nested deeper than 128 levels"), 0U)
        << error.what();
  }
}

}  // namespace
}  // namespace dptrain
