#include "data/table/types.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dptrain::data::table {
namespace {

NumberFault fault_of(std::string_view text) {
  float value = 0;
  return read_number(text, value);
}

TEST(Number, ReadsDecimals) {
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

TEST(Number, RejectsOtherTexts) {
  for (const char* text : {"",         "-",     "+",   ".",  "abc", "1a",  "0x10", "inf", "-inf", "nan",   "NaN",
                           "Infinity", "1,234", "1 2", " 1", "+-1", "-+1", "--1",  "1e",  "e5",   "1_000", "\xD9\xA1"})
    EXPECT_EQ(fault_of(text), NumberFault::kNoNumber) << text;
}

TEST(Number, ReportsNumbersBeyondFloats) {
  for (const char* text : {"1e39", "-3.5e38", "1e999", "999999999999999999999999999999999999999999"})
    EXPECT_EQ(fault_of(text), NumberFault::kOutOfRange) << text;
  double wide = 0;
  EXPECT_EQ(read_number("1e39", wide), NumberFault::kNone);
  EXPECT_EQ(wide, 1e39);
}

TEST(Number, AFormatHasAMarkGroupsAndASign) {
  const auto value = [](std::string_view text, const NumberFormat& format) {
    double number = 0;
    return read_number(text, format, number) == NumberFault::kNone ? number : -1;
  };
  const NumberFormat comma{.decimal = ','}, groups{.decimal = ',', .thousands = '.'}, spaces{.thousands = ' '},
      dollars{.thousands = ',', .sign = "$"};
  EXPECT_EQ(value("10,38", comma), 10.38);
  EXPECT_EQ(value("-0,5e1", comma), -5);
  EXPECT_EQ(value("7", comma), 7);
  EXPECT_EQ(value("1.234.567,5", groups), 1234567.5);
  EXPECT_EQ(value("1234,5", groups), 1234.5);
  EXPECT_EQ(value("1\xE2\x80\xAF"
                  "234\xC2\xA0"
                  "567.5",
                  spaces),
            1234567.5);
  EXPECT_EQ(value("$23,551.71", dollars), 23551.71);
  EXPECT_EQ(value("-$ 5", dollars), -5);
  EXPECT_EQ(value("$-5", dollars), -5);
  EXPECT_EQ(value("21.3 %", {.sign = "%"}), 21.3);
  for (const char* text : {"1.5", "1,5,5", "1,5.5", ",", "1.234,5"}) EXPECT_EQ(value(text, comma), -1) << text;
  for (const char* text : {"1.23", "12.3456", "1234.567", "0.125", "1..234", "1.234.", ".234.567", "1,234.567"})
    EXPECT_EQ(value(text, groups), -1) << text;
  for (const char* text : {"5", "%5", "$", "$$5", "€5"}) EXPECT_EQ(value(text, dollars), -1) << text;
}

TEST(Number, ReturnsTheMarksOfAllFormatsThatFit) {
  const auto fits = [](std::string_view text, std::size_t i) { return ((marks_of(text, "") >> i) & 1U) != 0; };
  for (const char* text : {"12", "-3", "1e5", "1.5", "1.234", "1,5", "1,234", "1.234,5", "1'234.5", "1 234", "1.5.5",
                           "0,125", "x", "", "1.5e3", "1,234,567"})
    for (std::size_t i = 0; i < kNumberMarks.size(); ++i) {
      double ignored = 0;
      EXPECT_EQ(fits(text, i), read_number(text, number_format(i, ""), ignored) == NumberFault::kNone)
          << text << " in format " << i;
    }
  EXPECT_EQ(sign_in("-$5"), "$");
  EXPECT_EQ(sign_in("5 €"), "€");
  EXPECT_EQ(sign_in("5"), "");
}

TEST(Number, ErrorsNameARemedy) {
  const auto words = [](const char* text) { return number_words(text, fault_of(text), {}, "x"); };
  EXPECT_EQ(words("abc"),
            "found 'abc', expected a number; try `missing_values: [abc]`, or `columns: {x: StringLookup}` for a column "
            "of words");
  EXPECT_EQ(words("1,5"), "found '1,5', expected a number with a decimal point; try `decimal: \",\"`");
  EXPECT_EQ(words("23,551.71"), "found '23,551.71', expected a number with a decimal point; try `thousands: \",\"`");
  EXPECT_EQ(number_words("5", NumberFault::kNoNumber, {.sign = "$"}, "x"),
            "found '5', expected a number with the sign $, as in the other rows; write it in all rows or in none");
  EXPECT_EQ(words("1e39"), "found '1e39', expected a number within the range of floats, 3.4e38");
  EXPECT_NE(words("-inf").find("a finite number"), std::string::npos);
  EXPECT_NE(words("0x1F").find("a decimal number"), std::string::npos);
  EXPECT_EQ(words(std::string(200, 'x').c_str()).substr(0, 52), "found '" + std::string(40, 'x') + "...',");
}

}  // namespace
}  // namespace dptrain::data::table
