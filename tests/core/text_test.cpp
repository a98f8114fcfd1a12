#include "core/text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace dptrain {
namespace {

TEST(Text, NearestAcceptsATypoButNotAnotherWord) {
  const std::vector<std::string> keys{"filters", "kernel_size", "strides", "padding", "lr"};
  EXPECT_EQ(nearest("filter", keys), "filters");
  const std::vector<std::string> words{"Accuracy", "accuracy", "acc"};
  EXPECT_EQ(nearest("acuracy", words), "accuracy");
  EXPECT_EQ(nearest("Acuracy", words), "Accuracy");
  EXPECT_EQ(nearest("Filters", keys), "filters");
  EXPECT_EQ(nearest("kernal_size", keys), "kernel_size");
  EXPECT_EQ(nearest("stirdes", keys), "strides");  // a transposition is one edit
  EXPECT_EQ(nearest("rl", keys), "lr");
  EXPECT_EQ(nearest("momentum", keys), "");
  const std::vector<std::string> metrics{"mse", "R2Score", "RootMeanSquaredError", "F1Score"};
  EXPECT_EQ(nearest("rmse", metrics), "RootMeanSquaredError");
  EXPECT_EQ(nearest("r2", metrics), "R2Score");
  EXPECT_EQ(nearest("ms", metrics), "mse");
  const std::vector<std::string> layers{"DenseNet121", "Dense"};
  EXPECT_EQ(nearest("dense", layers), "Dense") << "not an abbreviation";
  EXPECT_EQ(nearest("r", metrics), "") << "two candidates match, and one letter is not an abbreviation";
  EXPECT_EQ(nearest("xyzzy", {}), "");
  EXPECT_EQ(did_you_mean("filter", keys), "; did you mean 'filters'?");
  EXPECT_EQ(did_you_mean("momentum", keys), "");
}

TEST(Text, NearestReturnsTheFirstOfEquals) {
  const std::vector<std::string> words{"abd", "abe"};
  EXPECT_EQ(nearest("abc", words), "abd");
}

TEST(Text, SplitJoinTrim) {
  EXPECT_EQ(split("a.b..c", '.'), (std::vector<std::string>{"a", "b", "", "c"}));
  EXPECT_EQ(split("", '.'), std::vector<std::string>{""});
  EXPECT_EQ(split("a.", '.'), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(join(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join(std::vector<std::string>{}, ", "), "");
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Text, WithCommas) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1068298), "1,068,298");
  EXPECT_EQ(with_commas(-123), "-123");
  EXPECT_EQ(with_commas(-123456), "-123,456");
  EXPECT_EQ(with_commas(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Text, HumanBytes) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.0 KiB");
  EXPECT_EQ(human_bytes(1234567), "1.2 MiB");
  EXPECT_EQ(human_bytes(std::uint64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(human_bytes(std::uint64_t{5000} << 40), "5000.0 TiB");
}

TEST(Text, PrintableEscapesControlCharacters) {
  EXPECT_EQ(printable("conv1/kernel"), "conv1/kernel");
  EXPECT_EQ(printable("caf\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x90\x8D"), "caf\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x90\x8D");
  EXPECT_EQ(printable("\x1b[2Jgone\a"), "\\x1b[2Jgone\\x07");
  EXPECT_EQ(printable("two\nlines\r\t\x7F"), "two\\nlines\\x0d\\x09\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xC2\x9Bmm"), "\\u009bmm") << "C1: ESC [ as one character";
  EXPECT_EQ(printable("\xC2\xA0"), "\xC2\xA0") << "no longer C1";
  EXPECT_EQ(printable("\x9Bmm \xFF \xC3"), "\\x9bmm \\xff \\xc3") << "not UTF-8: control characters of 8-bit terminals";
  EXPECT_EQ(printable("a\nb\tc\x1b", "\n\t"), "a\nb\tc\\x1b");
}

TEST(Text, GlobMatch) {
  EXPECT_TRUE(glob_match("block1_*", "block1_conv1"));
  EXPECT_TRUE(glob_match("block*_conv*", "block5_conv3"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a?c", "abc"));
  EXPECT_TRUE(glob_match("**b", "aab"));
  EXPECT_TRUE(glob_match("*ab", "aaab"));
  EXPECT_FALSE(glob_match("block1_*", "block11_conv1"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_FALSE(glob_match("a", "A"));
  EXPECT_FALSE(glob_match("[a]", "a"));  // no character classes
}

TEST(Text, MetricsKeepSignificantDigits) {
  EXPECT_EQ(metric_text(0.23137), "0.2314");
  EXPECT_EQ(metric_text(-12.5), "-12.5000");
  EXPECT_EQ(metric_text(0.000487), "4.8700e-04");
  EXPECT_EQ(metric_text(0), "0.0000");
  EXPECT_EQ(metric_text(679521.0671), "679,521");
  EXPECT_EQ(metric_text(103749845.3849), "103,749,845");
  EXPECT_EQ(metric_text(-20000), "-20,000");
  EXPECT_EQ(metric_text(1.5e9), "1.5e+09");
  EXPECT_EQ(metric_text(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(metric_text(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Text, ShortestReadsBack) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(0.1f), "0.1");
  EXPECT_EQ(shortest(3.0), "3");
  EXPECT_EQ(shortest(3.0, true), "3.0");
  EXPECT_EQ(shortest(1e-7, true), "1e-07");
  EXPECT_EQ(shortest(1. / 3), "0.3333333333333333");
  for (const double value : {1. / 255, 1e300, -2.5e-310, 9007199254740993.0})
    EXPECT_EQ(std::strtod(shortest(value).c_str(), nullptr), value);
}

TEST(Text, RowsOfCsv) {
  using Rows = std::vector<std::vector<std::string>>;
  EXPECT_EQ(csv_rows(""), Rows{});
  EXPECT_EQ(csv_rows("a,b\r\n1,\n"), (Rows{{"a", "b"}, {"1", ""}}));
  EXPECT_EQ(csv_rows("x"), (Rows{{"x"}})) << "a last line without an end";
  const std::vector<std::string> fields{"plain", "a, or b", "say \"so\"", "two\nlines", ""};
  std::string text;
  for (const std::string& field : fields) text += (text.empty() ? "" : ",") + csv_field(field);
  EXPECT_EQ(csv_rows(text + "\nnext\n"), (Rows{fields, {"next"}}));
}

TEST(Text, ColumnsAreAsWideAsTheirLongestName) {
  EXPECT_EQ(column_width(std::vector<std::string>{"city", "größe"}), 5U);
  EXPECT_EQ(column_width(std::vector<std::string>{"bill_length_mm", "sex"}), 14U);
  EXPECT_EQ(column_width(std::vector<std::string>{std::string(40, 'x')}), 24U);
  EXPECT_EQ(column_width({}), 0U);
}

}  // namespace
}  // namespace dptrain
