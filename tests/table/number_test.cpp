#include "table/number.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dptrain::table {
namespace {

NumberFault fault_of(std::string_view text) {
  float value = 0;
  return read_number(text, value);
}

TEST(Number, DecimalsAreNumbers) {
  const std::pair<const char*, float> cases[] = {{"12", 12},
                                                 {"-0.5", -0.5F},
                                                 {"+.5", 0.5F},
                                                 {"5.", 5},
                                                 {"1e-3", 1e-3F},
                                                 {"1E3", 1000},
                                                 {"-1.5e+2", -150},
                                                 {"1e-60", 0},
                                                 {"3.4028235e38", 3.4028235e38F},
                                                 {"0.1000000000000000000000000000000000000001", 0.1F}};
  for (const auto& [text, expected] : cases) {
    float value = -1;
    EXPECT_EQ(read_number(text, value), NumberFault::kNone) << text;
    EXPECT_EQ(value, expected) << text;
  }
}

TEST(Number, NothingElseIs) {
  for (const char* text : {"",         "-",     "+",   ".",  "abc", "1a",  "0x10", "inf", "-inf", "nan",   "NaN",
                           "Infinity", "1,234", "1 2", " 1", "+-1", "-+1", "--1",  "1e",  "e5",   "1_000", "\xD9\xA1"})
    EXPECT_EQ(fault_of(text), NumberFault::kNoNumber) << text;
}

TEST(Number, BeyondFloatsIsItsOwnFault) {
  for (const char* text : {"1e39", "-3.5e38", "1e999", "999999999999999999999999999999999999999999"})
    EXPECT_EQ(fault_of(text), NumberFault::kOutOfRange) << text;
  double wide = 0;
  EXPECT_EQ(read_number("1e39", wide), NumberFault::kNone);
  EXPECT_EQ(wide, 1e39);
}

TEST(Number, WordsSayWhatToTry) {
  const auto words = [](const char* text) { return number_words(text, fault_of(text)); };
  EXPECT_EQ(
      words("abc"),
      "found 'abc', expected a number; say that the word stands for a missing one, or declare the column a category");
  EXPECT_EQ(words("1e39"), "found '1e39', expected a number within the range of floats, 3.4e38");
  EXPECT_NE(words("1,234").find("nothing between its thousands"), std::string::npos);
  EXPECT_NE(words("-inf").find("a finite number"), std::string::npos);
  EXPECT_NE(words("0x1F").find("a decimal number"), std::string::npos);
  EXPECT_EQ(words(std::string(200, 'x').c_str()).substr(0, 52), "found '" + std::string(40, 'x') + "...',");
}

}  // namespace
}  // namespace dptrain::table
