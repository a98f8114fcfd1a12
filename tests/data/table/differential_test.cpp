// Compares random files with a naive reader, for any blocks and threads.

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>

#include <unistd.h>

#include "core/error.h"
#include "data/table/fields.h"
#include "data/table/files.h"
#include "data/table/naive_csv.h"
#include "data/table/row_stream.h"
#include "support/tier.h"

namespace dptrain::data::table::test {
namespace {

constexpr std::size_t kColumns = 3;

std::size_t below(std::mt19937& random, std::size_t n) { return random() % n; }

std::string random_field(std::mt19937& random) {
  static const char* const kWords[] = {"",
                                       "a",
                                       "b c",
                                       " x ",
                                       "longer than fifteen bytes",
                                       "longer than fifteen bytes too",
                                       "12",
                                       "\xC3\xA9",
                                       "\"q\"",
                                       "\"a,b\"",
                                       "\"two\nlines\"",
                                       "\"cr\r\nlf\"",
                                       "\"say \"\"hi\"\"\"",
                                       "\"\"",
                                       "\"\"\"\""};
  return kWords[below(random, std::size(kWords))];
}

/// Mostly valid rows of fields, with a random byte now and then.
std::string random_file(std::mt19937& random, char separator) {
  static const char* const kEnds[] = {"\n", "\r\n", "\r"};
  std::string text;
  const std::size_t end_kind = below(random, 4);
  for (std::size_t rows = below(random, 24); rows > 0; --rows) {
    const std::size_t fields = below(random, 12) == 0 ? below(random, 6) : kColumns;
    for (std::size_t i = 0; i < fields; ++i) text += (i > 0 ? std::string(1, separator) : "") + random_field(random);
    text += kEnds[end_kind < 3 ? end_kind : below(random, 3)];
  }
  if (below(random, 3) == 0 && !text.empty()) text.pop_back();
  constexpr std::string_view kBytes("\"\",\n\r ;a\0x", 11);
  for (std::size_t changes = below(random, 3) == 0 ? below(random, 4) : 0; changes > 0 && !text.empty(); --changes)
    text[below(random, text.size())] = kBytes[below(random, kBytes.size())];
  return text;
}

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string expected_word(const NaiveRow& row, std::size_t i) {
  return row.quoted[i] ? row.fields[i] : std::string(trimmed(row.fields[i]));
}

void expect_row(const NaiveRow& naive, const Table& table, std::int64_t row) {
  EXPECT_EQ(text_of(table, 0, row), naive.fields[0]);
  for (std::size_t c = 1; c < kColumns; ++c) EXPECT_EQ(word(table, static_cast<int>(c), row), expected_word(naive, c));
  EXPECT_EQ(table.place(row), "a.csv:" + std::to_string(naive.line));
}

struct Case {
  std::string text;
  Schema schema;
  ReadOptions options;
  NaiveFile naive;
  std::vector<std::string> bad;

  explicit Case(std::mt19937& random) {
    const char separator = below(random, 4) == 0 ? ';' : ',';
    text = random_file(random, separator);
    naive = read_naively(text, separator, kColumns);
    schema = schema_of({ColumnType::kText, ColumnType::kCategory, ColumnType::kCategory});
    schema.dialect.separator = separator;
    schema.missing = {};
    options.skip = true;
    options.threads = 1 + static_cast<int>(below(random, 3));
    options.block_bytes = below(random, 3) == 0 ? 100'000 : 1 + static_cast<std::int64_t>(below(random, 80));
    options.on_bad = [this](const BadRow& row) { bad.push_back(row.place.substr(row.place.find(':') + 1)); };
  }
};

class Differential : public ::testing::TestWithParam<int> {};

TEST_P(Differential, RowsWordsAndOffsetsEqualTheNaiveReader) {
  std::mt19937 random(tier::case_seed(static_cast<std::uint32_t>(GetParam())));
  for (int i = tier::how_many(1500, 30'000); i > 0 && !HasFailure(); --i) {
    Case c(random);
    const bool packed = below(random, 4) == 0;
    const std::string mark = below(random, 8) == 0 ? "\xEF\xBB\xBF" : "";
    // Offsets in the first line exclude the byte order mark, as in editors.
    const Table table = read(Files{file_of(packed ? gzip(mark + c.text) : mark + c.text)}, c.schema, c.options);
    SCOPED_TRACE(testing::PrintToString(c.text) + ", blocks of " + std::to_string(c.options.block_bytes));
    EXPECT_EQ(c.bad, c.naive.bad);
    EXPECT_EQ(table.skipped(), static_cast<std::int64_t>(c.naive.bad.size()));
    ASSERT_EQ(table.rows(), static_cast<std::int64_t>(c.naive.rows.size()));
    for (std::int64_t row = 0; row < table.rows(); ++row)
      expect_row(c.naive.rows[static_cast<std::size_t>(row)], table, row);
    for (std::size_t column = 1; column < kColumns; ++column) {
      // In the order of first appearance, and counted.
      std::vector<std::string> words;
      std::vector<std::int64_t> counts;
      for (const NaiveRow& row : c.naive.rows) {
        const std::string text = expected_word(row, column);
        const auto at = std::find(words.begin(), words.end(), text);
        if (at == words.end())
          words.push_back(text), counts.push_back(1);
        else
          ++counts[static_cast<std::size_t>(at - words.begin())];
      }
      EXPECT_EQ(table.words(static_cast<int>(column)), words);
      EXPECT_EQ(table.counts(static_cast<int>(column)), counts);
    }
  }
}

TEST_P(Differential, StreamsGiveTheSameRows) {
  std::mt19937 random(tier::case_seed(100 + static_cast<std::uint32_t>(GetParam())));
  for (int i = tier::how_many(300, 5'000); i > 0 && !HasFailure(); --i) {
    Case c(random);
    SCOPED_TRACE(testing::PrintToString(c.text) + ", blocks of " + std::to_string(c.options.block_bytes));
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(write(ends[1], c.text.data(), c.text.size()),
              static_cast<ssize_t>(c.text.size()));  // fits into a pipe
    close(ends[1]);
    RowStream stream(ends[0], "a.csv", c.schema, c.options);
    Table table;
    std::size_t row = 0;
    for (const std::int64_t most = 1 + static_cast<std::int64_t>(below(random, 5)); stream.next(table, most);) {
      ASSERT_GE(table.rows(), 1);
      ASSERT_LE(table.rows(), most);
      for (std::int64_t r = 0; r < table.rows(); ++r, ++row) {
        ASSERT_LT(row, c.naive.rows.size());
        expect_row(c.naive.rows[row], table, r);
      }
    }
    close(ends[0]);
    EXPECT_EQ(row, c.naive.rows.size());
    EXPECT_EQ(c.bad, c.naive.bad);
    EXPECT_EQ(stream.skipped(), static_cast<std::int64_t>(c.naive.bad.size()));
  }
}

/// Without skipping, the error is the first bad row of the file, independent of threads.
TEST_P(Differential, ReportsTheFirstBadRow) {
  std::mt19937 random(tier::case_seed(200 + static_cast<std::uint32_t>(GetParam())));
  int refused = 0;
  for (int i = tier::how_many(800, 10'000); i > 0 && !HasFailure(); --i) {
    Case c(random);
    c.options.skip = false;
    SCOPED_TRACE(testing::PrintToString(c.text) + ", blocks of " + std::to_string(c.options.block_bytes));
    try {
      read(Files{file_of(c.text)}, c.schema, c.options);
      EXPECT_TRUE(c.naive.bad.empty());
    } catch (const Error& error) {
      ASSERT_FALSE(c.naive.bad.empty()) << error.what();
      EXPECT_EQ(std::string(error.what()).substr(0, 7 + c.naive.bad[0].size()), "a.csv:" + c.naive.bad[0] + ":");
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Table, Differential, ::testing::Range(1, 5));

}  // namespace
}  // namespace dptrain::data::table::test
