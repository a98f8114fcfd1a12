#include "data/table/reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "core/error.h"
#include "core/format.h"
#include "data/table/date.h"
#include "data/table/files.h"
#include "support/folder.h"

namespace dptrain::data::table::test {
namespace {

using dptrain::test::Folder;

std::string error_of(const Files& files, const Schema& schema, const ReadOptions& options = {}) {
  try {
    read(files, schema, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    return error.what();
  }
  return "no error";
}

std::string error_of(std::string_view text, const Schema& schema, const ReadOptions& options = {}) {
  return error_of(Files{file_of(text)}, schema, options);
}

Table sniff_and_read(const std::string& text, const ReadOptions& options = {}) {
  const Files files{file_of(text)};
  return read(files, sniff(files, {}).schema, options);
}

void write(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

TEST(Read, CellsHaveTheirTypes) {
  const Table table = sniff_and_read(
      "n,c,d,t\n1.5, red ,2026-11-25 10:20,\"one, \"\"two\"\" three\"\n-2e3,\"red\",,four five\n,NA,1970-01-01,\n");
  ASSERT_EQ(table.rows(), 3);
  EXPECT_EQ(table.cells(), 3);
  EXPECT_EQ(table.cell_of(3), -1);
  EXPECT_EQ(number(table, 0, 0), 1.5F);
  EXPECT_EQ(number(table, 0, 1), -2000.0F);
  EXPECT_TRUE(std::isnan(number(table, 0, 2)));
  EXPECT_EQ(table.words(1), std::vector<std::string>{"red"});
  EXPECT_EQ(table.counts(1), std::vector<std::int64_t>{2});
  EXPECT_EQ(word(table, 1, 2), "(missing)");
  EXPECT_EQ(table.row(0)[2].minutes, *read_date("2026-11-25 10:20", DateForm::kIso));
  EXPECT_EQ(table.row(1)[2].minutes, Cell::kNoDate);
  EXPECT_EQ(text_of(table, 3, 0), "one, \"two\" three");
  EXPECT_EQ(text_of(table, 3, 2), "");
  EXPECT_EQ(table.place(2), "a.csv:4");
}

TEST(Read, NumbersMayHaveQuotesAndSpaces) {
  const Schema schema = schema_of({ColumnType::kNumber, ColumnType::kNumber});
  const Table table = read(Files{file_of("\"1.5\",  2\t\n+3, -4 \n1e2,\"\"\n")}, schema, {});
  EXPECT_EQ(number(table, 0, 0), 1.5F);
  EXPECT_EQ(number(table, 1, 0), 2.0F);
  EXPECT_EQ(number(table, 0, 1), 3.0F);
  EXPECT_EQ(number(table, 1, 1), -4.0F);
  EXPECT_EQ(number(table, 0, 2), 100.0F);
  EXPECT_TRUE(std::isnan(number(table, 1, 2)));
}

TEST(Read, FilesFollowOneAnother) {
  const Files files{file_of("x,c\n1,a\n2,b\n"), file_of("c,x\nb,3\n\nd,4", "b.csv"), file_of("x,c\n", "c.csv"),
                    file_of("x,c,more\n5,a,!\n", "d.csv")};
  Schema schema = sniff(Files{files[0]}, {}).schema;
  for (const int threads : {1, 3}) {
    const Table table = read(files, schema, {.threads = threads, .block_bytes = 3});
    ASSERT_EQ(table.rows(), 5);
    for (int row = 0; row < 5; ++row) EXPECT_EQ(number(table, 0, row), static_cast<float>(row + 1));
    EXPECT_EQ(table.words(1), (std::vector<std::string>{"a", "b", "d"}));
    EXPECT_EQ(table.counts(1), (std::vector<std::int64_t>{2, 2, 1}));
    EXPECT_EQ(table.place(1), "a.csv:3");
    EXPECT_EQ(table.place(3), "b.csv:4");
    EXPECT_EQ(table.place(4), "d.csv:2");
  }
  schema.columns.push_back({.name = "more", .type = ColumnType::kCategory});
  EXPECT_EQ(error_of(files, schema), "a.csv:1:1: found no column 'more' in the header, expected it");
  schema.columns.back().optional = true;
  const Table table = read(files, schema, {});
  EXPECT_EQ(word(table, 2, 0), "(missing)");
  EXPECT_EQ(word(table, 2, 4), "!");
}

TEST(Read, KeepsAGivenVocabulary) {
  Schema schema = schema_of({ColumnType::kCategory, ColumnType::kNumber});
  schema.columns[0].words = std::vector<std::string>{"b", "a word of more than fifteen bytes", "a"};
  const Table table = read(Files{file_of("a,1\nc,2\nb,3\n,4\na word of more than fifteen bytes,5\n")}, schema,
                           {.threads = 2, .block_bytes = 4});
  EXPECT_EQ(table.words(0), *schema.columns[0].words);
  EXPECT_EQ(word(table, 0, 0), "a");
  EXPECT_EQ(word(table, 0, 1), "(unknown)");
  EXPECT_EQ(word(table, 0, 2), "b");
  EXPECT_EQ(word(table, 0, 3), "(missing)");
  EXPECT_EQ(word(table, 0, 4), "a word of more than fifteen bytes");
  EXPECT_EQ(table.counts(0), (std::vector<std::int64_t>{1, 1, 1}));
}

TEST(Read, ChecksOnlyTheSyntaxOfUnusedColumns) {
  Schema schema = schema_of({ColumnType::kNumber, ColumnType::kNumber, ColumnType::kId});
  schema.columns[0].kept = false;
  const Table table = read(Files{file_of("no number,1,\xFF\n")}, schema, {});
  EXPECT_EQ(table.cells(), 1);
  EXPECT_EQ(table.cell_of(0), -1);
  EXPECT_EQ(number(table, 1, 0), 1.0F);
  EXPECT_EQ(error_of("a\"b,1,x\n", schema).substr(0, 32), "a.csv:1:2: column 'column1': fou");
}

/// Words after the sniffed rows, in the order of the file.
TEST(Read, RejectsFieldsOfAnotherType) {
  std::string text = "x,y,d\n";
  for (int i = 0; i < 40'000; ++i) text += fmt::format("{},{}.5,2026-11-{:02}\n", i % 7, i % 9, 1 + i % 30);
  text += "seven,1,2026-11-25\n8,1,\"yesterday\"\n";
  const Files files{file_of(text)};
  const Schema schema = sniff(files, {.rows = 1000, .bytes = 1}).schema;
  EXPECT_EQ(error_of(files, schema, {.threads = 2, .block_bytes = 1000}),
            "a.csv:40002:1: column 'x': found 'seven', expected a number; try `missing_values: [seven]`, or `columns: "
            "{x: StringLookup}` for a column of words");
  std::vector<std::string> bad;
  const auto note = [&](const BadRow& row) { bad.push_back(row.place + " " + row.column); };
  EXPECT_EQ(read(files, schema, {.threads = 2, .skip = true, .on_bad = note, .block_bytes = 1000}).rows(), 40'000);
  EXPECT_EQ(bad, (std::vector<std::string>{"a.csv:40002:1 x", "a.csv:40003:5 d"}));
}

TEST(Read, NumbersInOtherFormats) {
  const Table table = sniff_and_read("a;b;c;d\n10,38;1.234,5;$ 5;7\n-0,5;12;-$6.50;8\n;1.234.567;NA;9,25\n");
  EXPECT_EQ(number(table, 0, 0), 10.38F);
  EXPECT_EQ(number(table, 0, 1), -0.5F);
  EXPECT_TRUE(std::isnan(number(table, 0, 2)));
  EXPECT_EQ(number(table, 1, 0), 1234.5F);
  EXPECT_EQ(number(table, 1, 1), 12.0F);
  EXPECT_EQ(number(table, 1, 2), 1234567.0F);
  EXPECT_EQ(number(table, 2, 1), -6.5F);
  EXPECT_TRUE(std::isnan(number(table, 2, 2)));
  EXPECT_EQ(number(table, 3, 2), 9.25F);
  Schema schema = schema_of({ColumnType::kNumber, ColumnType::kNumber});
  schema.columns[0].numbers.thousands = ',';
  schema.columns[1].numbers.decimal = ',';
  const Table quoted = read(Files{file_of("\"23,551.71\",\"1,5\"\n12.5,3\n")}, schema, {});
  EXPECT_EQ(number(quoted, 0, 0), 23551.71F);
  EXPECT_EQ(number(quoted, 1, 0), 1.5F);
  EXPECT_EQ(number(quoted, 0, 1), 12.5F);
  EXPECT_EQ(error_of("1,1.5\n", schema),
            "a.csv:1:3: column 'column2': found '1.5', expected a number with a decimal comma; try `decimal: \".\"`");
}

TEST(Read, AVocabularyHasALimit) {
  std::string text = "x\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("word{}\n", i);
  const Files files{file_of(text)};
  Schema schema = schema_of({ColumnType::kCategory});
  EXPECT_EQ(read(files, schema, {.max_words = 101}).words(0).size(), 101U);
  const std::string error = error_of(files, schema, {.max_words = 100});
  EXPECT_NE(error.find("column 'column1': found more than 100 different words"), std::string::npos) << error;
}

TEST(Read, ErrorsNamePositionReasonAndRemedy) {
  const Schema schema = schema_of({ColumnType::kNumber, ColumnType::kCategory, ColumnType::kDate});
  const auto of = [&](std::string_view text) {
    return error_of(std::string("1,a,2026-11-25\n") + std::string(text), schema);
  };
  EXPECT_EQ(of("1,a\n"),
            "a.csv:2:4: found 2 fields, expected 3; a field that contains the separator (a comma) needs double quotes");
  EXPECT_EQ(of("1,a,,b\n"),
            "a.csv:2:6: found 4 fields, expected 3; a field that contains the separator (a comma) needs double quotes");
  EXPECT_EQ(of("1,a\"b\",\n").substr(0, 80),
            "a.csv:2:4: column 'column2': found a double quote within a field that does not b");
  EXPECT_EQ(of("1,\"a\"b,\n").substr(0, 81),
            "a.csv:2:6: column 'column2': found 'b' after the closing quote, expected the sepa");
  EXPECT_EQ(of("1,\"a\nb\nc").substr(0, 89),
            "a.csv:2:3: column 'column2': found a double quote that is not closed in this file, expect");
  EXPECT_EQ(of(std::string_view("1,a\0b,\n", 7)).substr(0, 52), "a.csv:2:4: found a byte of zero, expected text; is t");
  EXPECT_EQ(of("1,caf\xE9,\n").substr(0, 71),
            "a.csv:2:3: column 'column2': found 'caf\\xe9', expected text in UTF-8; `");
  EXPECT_EQ(of("1e39,a,\n"),
            "a.csv:2:1: column 'column1': found '1e39', expected a number within the range of floats, 3.4e38");
  EXPECT_EQ(of("\"1\n2\",a,\n").substr(0, 55), "a.csv:2:1: column 'column1': found '1\\n2', expected a n");
  EXPECT_EQ(
      of("1,\"a\nb\",soon\n"),
      "a.csv:3:4: column 'column3': found 'soon', expected a date as 2026-11-25; try `missing_values: [soon]`, or "
      "`columns: {column3: StringLookup}` for a column of words");
  EXPECT_EQ(error_of("\xFE\xFF", schema).substr(0, 37), "a.csv:1:1: found text in UTF-16, expe");
}

/// A row has a maximum number of bytes, independent of the blocks; reading continues after a longer one.
TEST(Read, RejectsLongRowsInBoundedMemory) {
  const Schema schema = schema_of({ColumnType::kText, ColumnType::kNumber});
  const auto rows = [&](const std::string& text, std::int64_t block) {
    std::string told;
    const Table table = read(Files{file_of(text)}, schema,
                             {.skip = true,
                              .on_bad = [&](const BadRow& bad) { told += bad.place + " "; },
                              .block_bytes = block,
                              .max_row_bytes = 100});
    for (std::int64_t row = 0; row < table.rows(); ++row)
      told += fmt::format("{}@{} ", number(table, 1, row), table.place(row));
    return told;
  };
  const std::string x(1000, 'x'), short_x(94, 'x');
  for (const std::int64_t block : {1, 7, 100, 100'000}) {
    EXPECT_EQ(rows("a,1\n" + x + ",2\nb,3\n", block), "a.csv:2:1 1@a.csv:1 3@a.csv:3 ") << block;
    EXPECT_EQ(rows("a,1\n" + x + ",2\r\nb,3\n", block), "a.csv:2:1 1@a.csv:1 3@a.csv:3 ") << block;
    EXPECT_EQ(rows("a,1\n\"" + x + "\",2\nb,3\n", block), "a.csv:2:1 1@a.csv:1 3@a.csv:3 ") << block;
    EXPECT_EQ(rows("\"y\"," + short_x + "\n\"" + short_x + "\",4\n", block), "a.csv:1:5 4@a.csv:2 ") << block;
    EXPECT_EQ(rows("a,1\n\"a\n" + std::string(200, '\n') + "b,3\n", block), "a.csv:2:1 1@a.csv:1 3@a.csv:203 ")
        << block;
  }
  EXPECT_NE(
      error_of("a,1\n" + x + ",2\n", schema, {.max_row_bytes = 100}).find("a.csv:2:1: found a row of more than 100 B"),
      std::string::npos);
}

TEST(Read, RereadsTextsFromTheFile) {
  const Folder folder;
  const std::string path = folder / "a.csv";
  write(path, "t,x\n\"one \"\"two\"\"\",1\nthree,2\n");
  Schema schema = schema_of({ColumnType::kText, ColumnType::kNumber});
  schema.dialect.header = true;
  schema.columns[0].name = "t";
  schema.columns[1].name = "x";
  const Table table = read(std::vector<std::string>{path}, schema, {});
  EXPECT_EQ(text_of(table, 0, 0), "one \"two\"");
  EXPECT_EQ(text_of(table, 0, 1), "three");
  EXPECT_EQ(table.place(1), path + ":3");
  write(path, "t,x\n");
  EXPECT_THROW(text_of(table, 0, 1), Error);
}

TEST(Read, NamesMissingFiles) {
  const Folder folder;
  write(folder / "train.csv", "x\n1\n");
  const Schema schema = schema_of({ColumnType::kNumber});
  const auto error = [&](const std::string& path) {
    try {
      read(std::vector<std::string>{path}, schema, {});
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error(folder / "trian.csv"),
            folder / "trian.csv: cannot be opened: No such file or directory; did you mean 'train.csv'?");
  EXPECT_NE(error(folder.path().string()).find("it is a folder"), std::string::npos);
}

TEST(Read, RejectsDamagedArchives) {
  const Schema schema = schema_of({ColumnType::kNumber});
  // `printf '1\n2\n3\n' | gzip -n`
  const std::string packed("\x1f\x8b\x08\0\0\0\0\0\0\x03\x33\xe4\x32\xe2\x32\xe6\x02\0\xd8\x54\x5f\x77\x06\0\0\0", 26);
  EXPECT_EQ(read(Files{file_of(packed)}, schema, {}).rows(), 3);
  EXPECT_EQ(read(Files{file_of(packed + packed + std::string(10, '\0'))}, schema, {}).rows(), 6);
  EXPECT_EQ(error_of(packed.substr(0, 15), schema), "a.csv: it ends in the middle; was it copied as a whole?");
  std::string damaged = packed;
  damaged[12] = '\xFF';
  EXPECT_EQ(error_of(damaged, schema).substr(0, 14), "a.csv: damaged");
}

TEST(Read, AFileWithoutRowsIsATableWithoutRows) {
  Schema schema = schema_of({ColumnType::kNumber});
  EXPECT_EQ(read(Files{file_of("")}, schema, {.threads = 2}).rows(), 0);
  EXPECT_EQ(read(Files{file_of("\n\r\n\r")}, schema, {}).rows(), 0);
  schema.dialect.header = true;
  EXPECT_EQ(read(Files{file_of("column1\n")}, schema, {}).rows(), 0);
  EXPECT_EQ(error_of("", schema), "a.csv: is empty, expected rows");
}

TEST(Read, AnExceptionOfTheListenerEndsTheReading) {
  const Schema schema = schema_of({ColumnType::kNumber});
  const auto throws = [](const BadRow& row) { throw Error(ErrorKind::kData, "enough: " + row.str()); };
  EXPECT_EQ(
      error_of("1\n2,3\n", schema, {.threads = 3, .skip = true, .on_bad = throws, .block_bytes = 2}).substr(0, 18),
      "enough: a.csv:2:3:");
}

}  // namespace
}  // namespace dptrain::data::table::test
