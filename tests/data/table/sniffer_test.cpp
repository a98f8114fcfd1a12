#include "data/table/sniffer.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/format.h"
#include "data/table/date.h"
#include "data/table/files.h"
#include "support/sanitizer.h"

namespace dptrain::data::table::test {
namespace {

SniffResult sniff_text(const std::string& text, const SniffOptions& options = {}) {
  return sniff(Files{file_of(text)}, options);
}

std::string sniff_error(const Files& files, const SniffOptions& options = {}) {
  try {
    sniff(files, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// A column of n rows; `make` returns the text of row i.
template <class F>
ColumnType type_of(const F& make, const std::string& name = "x", int n = 50) {
  std::string text = name + ",other\n";
  for (int i = 0; i < n; ++i) text += fmt::format("\"{}\",a\n", make(i));
  const SniffResult found = sniff_text(text, {.dialect = {.separator = ',', .header = true}});
  EXPECT_EQ(found.rows, n);
  return found.schema.columns.at(0).type;
}

TEST(Dialect, PicksSeparatorsThatGiveEqualRows) {
  const auto separator = [](std::string_view text) { return detect_dialect(text, {}).separator; };
  EXPECT_EQ(separator("a,b\n1,2\n"), ',');
  EXPECT_EQ(separator("a;b;c\n1,5;2,5;3\n1,5;2;3\n"), ';');
  EXPECT_EQ(separator("a\tb\n1\t2, 3\n4\t5\n"), '\t');
  EXPECT_EQ(separator("a|b|c\n1|2|3\n"), '|');
  EXPECT_EQ(separator("a;b\n\"x,y,z\";2\n\"x\ny\";3\n"), ';');
  EXPECT_EQ(separator("one\ntwo\n"), ',');
  EXPECT_EQ(separator("10,38;6,29\n10,39;6,30\n"), ';');  // without a header, numbers decide
  EXPECT_EQ(separator("a;b\n\"1;2\n3;4\n5;6\n"), ';');
  EXPECT_EQ(separator(""), ',');
  EXPECT_EQ(detect_dialect("a,b\n1,2\n", {.separator = ';'}).separator, ';');
}

TEST(Dialect, DetectsHeaders) {
  const auto header = [](std::string_view text) { return detect_dialect(text, {}).header; };
  EXPECT_TRUE(header("a,b\n1,x\n2,y\n"));
  EXPECT_FALSE(header("3,z\n1,x\n2,y\n"));
  EXPECT_TRUE(header("day,n\n2026-11-25,x\n2026-11-26,y\n"));
  EXPECT_TRUE(header("name,city\nann,rome\nbob,oslo\n"));
  EXPECT_FALSE(header("ann,rome\nbob,rome\n"));  // also occurs in a row
  EXPECT_FALSE(header("ann,ann\nbob,rome\n"));   // twice
  EXPECT_TRUE(header(",x\n0,1.5\n1,2.5\n"));     // pandas omits the name of its index
  EXPECT_TRUE(header("a,b\n1,\n,NA\n"));
  EXPECT_FALSE(header("5.1,3.5,setosa\n4.9,3.0,setosa\n"));
  EXPECT_FALSE(header("10,5;$2\n11,5;$3\n"));
  EXPECT_FALSE(detect_dialect("a,b\n1,x\n", {.header = false}).header);
}

TEST(Dialect, RejectsInvalidSeparators) {
  for (const char separator : {'"', '\n', '\r', '\0', '\xE9'})
    EXPECT_THROW(detect_dialect("a\n", {.separator = separator}), Error);
}

TEST(Sniffer, KeepsNumbersWithFewDistinctValues) {
  EXPECT_EQ(type_of([](int i) { return i % 2; }), ColumnType::kNumber);
  EXPECT_EQ(type_of([](int i) { return fmt::format("{}.5", i); }), ColumnType::kNumber);
  EXPECT_EQ(type_of([](int i) { return i % 5 == 0 ? std::string("NA") : fmt::format("{}", 7 * i % 31); }),
            ColumnType::kNumber);
  EXPECT_EQ(type_of([](int i) { return 3 * i; }), ColumnType::kNumber);       // distinct, but not consecutive
  EXPECT_EQ(type_of([](int i) { return i; }, "x", 10), ColumnType::kNumber);  // too few rows
}

/// The format of a column of n rows; "trouble" for conflicting formats, "" if the column is not numeric.
template <class F>
std::string format_of(const F& make, int n = 50, const DialectHints& hints = {}, const std::string& other = "a") {
  std::string text = "x;other\n";
  for (int i = 0; i < n; ++i) text += fmt::format("{};{}\n", make(i), other);
  SniffOptions options{.dialect = hints};
  options.dialect.separator = ';';
  options.dialect.header = true;
  const SniffResult found = sniff_text(text, options);
  if (!found.facts[0].format_problem.empty()) return "trouble";
  if (found.schema.columns[0].type != ColumnType::kNumber) return "";
  const NumberFormat& numbers = found.schema.columns[0].numbers;
  return fmt::format("{}{}{}", numbers.decimal, numbers.thousands == '\0' ? "" : std::string(1, numbers.thousands),
                     numbers.sign);
}

TEST(Sniffer, FormatsOfNumbersThatFitEveryField) {
  const auto one = [](const char* text) { return [=](int) { return std::string(text); }; };
  EXPECT_EQ(format_of(one("12.5")), ".");
  EXPECT_EQ(format_of(one("10,38")), ",");
  EXPECT_EQ(format_of(one("0,125")), ",");
  EXPECT_EQ(format_of(one("23,551.71")), ".,");
  EXPECT_EQ(format_of(one("1,234,567")), ".,");
  EXPECT_EQ(format_of(one("1.234,5")), ",.");
  EXPECT_EQ(format_of(one("1.234")), ".");
  EXPECT_EQ(format_of(one("1 234,5")), ", ");
  EXPECT_EQ(format_of(one("1'234.5")), ".'");
  EXPECT_EQ(format_of(one("$236.11")), ".$");
  EXPECT_EQ(format_of(one("21,3 %")), ",%");
  EXPECT_EQ(format_of(one("192.168.10")), "");
  EXPECT_EQ(format_of([](int i) { return i % 2 == 0 ? "1,234" : "1,5"; }), ",");
  EXPECT_EQ(format_of([](int i) { return i % 2 == 0 ? "1,234" : "12"; }), "trouble");
  EXPECT_EQ(format_of([](int i) { return i % 2 == 0 ? "$5" : "€5"; }), "trouble");
  EXPECT_EQ(format_of([](int i) { return i % 2 == 0 ? "1.5" : "1,5"; }), "trouble");
  // Another column has the mark.
  EXPECT_EQ(format_of(one("1,234"), 50, {}, "0,5"), ",");
  EXPECT_EQ(format_of(one("1,234"), 50, {}, "0.5"), ".,");
  EXPECT_EQ(format_of(one("12"), 50, {}, "0,5"), ",");
  EXPECT_EQ(format_of(one("1.234"), 50, {}, "0,5"), ",.");
  EXPECT_EQ(format_of(one("12.5"), 50, {}, "0,5"), ".");
  // A given format.
  EXPECT_EQ(format_of(one("1,234"), 50, {.decimal = ','}), ",");
  EXPECT_EQ(format_of(one("1,234"), 50, {.thousands = ','}), ".,");
  EXPECT_EQ(format_of(one("1,234"), 50, {.thousands = '\0'}), ",");
  EXPECT_EQ(format_of(one("1.234"), 50, {.thousands = '.'}), ",.");
  EXPECT_EQ(format_of(one("1.5"), 50, {.decimal = ','}), "trouble");
}

TEST(Sniffer, CountsFewFieldsOfAnotherTypeAsMismatches) {
  const auto with = [](const char* word, int every) {
    return [=](int i) { return i % every == 1 ? std::string(word) : fmt::format("{}", 3 * i); };
  };
  EXPECT_EQ(type_of(with("oops", 50)), ColumnType::kNumber);
  EXPECT_EQ(type_of(with("oops", 10)), ColumnType::kCategory);
  EXPECT_EQ(type_of(with("oops", 50), "x", 10), ColumnType::kCategory);
  EXPECT_EQ(type_of([](int i) { return i == 7 ? "soon" : fmt::format("2026-01-{:02}", 1 + i % 28); }),
            ColumnType::kDate);
  EXPECT_EQ(type_of([](int i) { return fmt::format("{}/2/2026", i == 7 ? 25 : 1 + i % 12); }), ColumnType::kDate);
  std::string text = "x\n";
  for (int i = 0; i < 50; ++i) text += i == 7 ? "oops\n" : "1.5\n";
  const SniffResult found = sniff_text(text);
  EXPECT_EQ(found.facts[0].mismatches, 1);
  EXPECT_EQ(found.facts[0].max, 1.5);
}

TEST(Sniffer, SkipsALineWithAnOpenQuote) {
  std::string text = "x,y\n\"1,2\n";
  for (int i = 0; i < 50; ++i) text += fmt::format("{}.5,{}\n", i, i);
  const SniffResult found = sniff_text(text);
  EXPECT_EQ(found.rows, 50);
  EXPECT_EQ(found.schema.columns[0].type, ColumnType::kNumber);
}

TEST(Sniffer, IdsAreDifferentInEachRow) {
  EXPECT_EQ(type_of([](int i) { return i; }), ColumnType::kId);
  EXPECT_EQ(type_of([](int i) { return i + 1; }), ColumnType::kId);
  EXPECT_EQ(type_of([](int i) { return 1950 + i; }, "year"), ColumnType::kNumber);
  EXPECT_EQ(type_of([](int i) { return 3 * i; }, "customer_id"), ColumnType::kId);
  EXPECT_EQ(type_of([](int i) { return fmt::format("user_{}", 7919 * i); }), ColumnType::kId);
  EXPECT_EQ(type_of([](int i) { return fmt::format("{:08x}-{:04x}", 2654435761U * static_cast<unsigned>(i), i); }),
            ColumnType::kId);
  EXPECT_EQ(type_of([](int i) { return fmt::format("user_{}", i / 2); }), ColumnType::kCategory);
  EXPECT_FALSE(sniff_text("id,y\n1,a\n2,b\n").schema.columns[0].type == ColumnType::kId);
}

TEST(Sniffer, CategoriesTextsAndDates) {
  EXPECT_EQ(type_of([](int i) { return i % 3 == 0 ? "red" : "light blue"; }), ColumnType::kCategory);
  EXPECT_EQ(type_of([](int i) { return fmt::format("A sentence, the {}th of many.", i); }), ColumnType::kText);
  EXPECT_EQ(type_of([](int) { return ""; }), ColumnType::kCategory);
  EXPECT_EQ(type_of([](int i) { return fmt::format("2026-01-{:02}", 1 + i % 28); }), ColumnType::kDate);
  EXPECT_EQ(type_of([](int i) { return fmt::format("{}/1/2026", 1 + i % 28); }), ColumnType::kDate);
  EXPECT_EQ(type_of([](int i) { return fmt::format("{}/2/2026", 1 + i % 12); }),
            ColumnType::kCategory);  // ambiguous
  const SniffResult found = sniff_text("d,e,f\n25/11/2026,11/25/2026,2026-11-25\n");
  EXPECT_EQ(found.schema.columns[0].form, DateForm::kDayFirst);
  EXPECT_EQ(found.schema.columns[1].form, DateForm::kMonthFirst);
  EXPECT_EQ(found.schema.columns[2].form, DateForm::kIso);
  EXPECT_EQ(found.facts[0].min, *read_date("2026-11-25", DateForm::kIso));
}

TEST(Sniffer, ReportsFactsOfColumns) {
  const SniffResult found = sniff_text("x,c\n1, red\n-2.5,blue\n,red\n4,\n");
  EXPECT_EQ(found.rows, 4);
  EXPECT_TRUE(found.all);
  EXPECT_EQ(found.facts[0].filled, 3);
  EXPECT_EQ(found.facts[0].missing, 1);
  EXPECT_EQ(found.facts[0].distinct, 3);
  EXPECT_FALSE(found.facts[0].whole);
  EXPECT_EQ(found.facts[0].min, -2.5);
  EXPECT_EQ(found.facts[0].max, 4);
  EXPECT_EQ(found.facts[1].distinct, 2);
  EXPECT_EQ(found.facts[1].examples, (std::vector<std::string>{"red", "blue"}));
}

TEST(Sniffer, TakesASampleOfALargeFile) {
  std::string text = "x\n";
  for (int i = 0; i < 30'000; ++i) text += i < 20'000 ? "1.5\n" : "word\n";
  const SniffResult found = sniff_text(text, {.dialect = {.separator = ','}, .bytes = 1});
  EXPECT_EQ(found.rows, 10'000);
  EXPECT_FALSE(found.all);
  EXPECT_EQ(found.schema.columns[0].type, ColumnType::kNumber);
  EXPECT_EQ(sniff_text(text, {.bytes = 1 << 20}).rows, 30'000);
}

TEST(Sniffer, ColumnsWithoutAHeaderAreNumbered) {
  const SniffResult found = sniff_text("1.5,a\n2.5,a\n");
  EXPECT_FALSE(found.schema.dialect.header);
  EXPECT_EQ(found.schema.columns[1].name, "column2");
  EXPECT_EQ(sniff_text(",x\n0,1.5\n1,2.5\n").schema.columns[0].name, "column1");
}

TEST(Sniffer, UsesDeclaredTypes) {
  const SniffResult found = sniff_text("x,y\n1,2\n3,4\n", {.declared = {{"x", ColumnType::kCategory}}});
  EXPECT_EQ(found.schema.columns[0].type, ColumnType::kCategory);
  EXPECT_EQ(found.schema.columns[1].type, ColumnType::kNumber);
}

TEST(Sniffer, ErrorsNamePositionAndRemedy) {
  const auto of = [](const std::string& text) { return Files{file_of(text)}; };
  EXPECT_EQ(sniff_error(of("")), "a.csv: is empty, expected rows");
  EXPECT_EQ(sniff_error(of("x,x\n1,2\n")),
            "a.csv:1:1: found the name 'x' for columns 1 and 2, expected different names; if the first row is not a "
            "header, write `header: false` in the arguments of CSV");
  EXPECT_NE(
      sniff_error(of(std::string("\xFF\xFEx\0", 4))).find("a.csv:1:1: found text in UTF-16, expected UTF-8; `iconv"),
      std::string::npos);
  EXPECT_EQ(sniff_error(of("x,y\n1,2\n"), {.declared = {{"zeta", ColumnType::kDate}}}),
            "column 'zeta' is declared (date), but the files have no such column");
  EXPECT_NE(sniff_error(of("d\n1/2/2026\n"), {.declared = {{"d", ColumnType::kDate}}})
                .find("may have the day or the month first"),
            std::string::npos);
  EXPECT_NE(
      sniff_error(of("\"x\n"), {.dialect = {.header = true}}).find("a.csv:1:1: found a header with a double quote"),
      std::string::npos);
}

TEST(Sniffer, LimitsColumnsToAMillion) {
  if (dptrain::test::kThreadSanitizer) GTEST_SKIP() << "no threads";
  std::string header = "a";
  for (int i = 1; i < 1'000'000; ++i) header += fmt::format(",{}", i);
  EXPECT_EQ(sniff_error(Files{file_of(header + ",x\n")}, {.dialect = {.header = true}}),
            "a.csv:1:1: found 1,000,001 columns, expected at most 1,000,000; is the separator right?");
}

TEST(Sniffer, RequiresTheSameColumnsInAllFiles) {
  const auto with = [](std::string_view header) {
    return Files{file_of("x,y\n1,2\n"), file_of(std::string(header) + "\n1,2\n", "b.csv")};
  };
  EXPECT_EQ(sniff_error(with("y,x")), "no error");
  EXPECT_EQ(sniff_error(with("x,why")), "b.csv:1:1: found no column 'y' in the header, expected the columns of a.csv");
  EXPECT_EQ(sniff_error(with("x,y,z")),
            "b.csv:1:1: found a column 'z' in the header, expected only the columns of a.csv");
}

}  // namespace
}  // namespace dptrain::data::table::test
