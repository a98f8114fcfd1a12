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
  EXPECT_FALSE(exceeds_json_depth("", 0));
  EXPECT_FALSE(exceeds_json_depth("3.5", 0));
  EXPECT_TRUE(exceeds_json_depth("[]", 0));
  EXPECT_FALSE(exceeds_json_depth(R"({"a": [1, 2], "b": {}})", 2));
  EXPECT_TRUE(exceeds_json_depth(R"({"a": [1, {}]})", 2));
  EXPECT_FALSE(exceeds_json_depth("[[], [], [], []]", 2)) << "side by side is not deep";
}

TEST(JsonDepth, IgnoresBracketsInsideStrings) {
  EXPECT_FALSE(exceeds_json_depth(R"(["[[[[", "{{{{"])", 1));
  EXPECT_FALSE(exceeds_json_depth(R"(["\"[[[["])", 1)) << "the escaped quote ends no string";
  EXPECT_TRUE(exceeds_json_depth(R"(["\\", [[]]])", 2)) << "the escaped backslash does not hide the quote";
  EXPECT_FALSE(exceeds_json_depth("[\"never closed [[[[\\", 1));
}

TEST(JsonDepth, UnmatchedClosingBracketsDoNotReduceTheDepth) {
  EXPECT_FALSE(exceeds_json_depth("]]]]", 1));
  EXPECT_TRUE(exceeds_json_depth("]]]][[", 1));
}

TEST(JsonDepth, RejectsWithKindAndLocation) {
  EXPECT_EQ(check_json_depth(lists(kMaxJsonDepth), ErrorKind::kCheckpoint, "'a.h5': its state"), lists(kMaxJsonDepth));
  try {
    check_json_depth(lists(65000), ErrorKind::kCheckpoint, "'a.h5': its state");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    EXPECT_EQ(std::string(error.what()).find("'a.h5': its state is JSON nested deeper than 128 levels"), 0U)
        << error.what();
  }
}

}  // namespace
}  // namespace dptrain
