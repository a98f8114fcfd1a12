// Statistics of one pass over the training rows: compared with plain sums, and equal for any number of threads.

#include "data/sources/csv_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/format.h"
#include "data/fixtures.h"
#include "data/table/reader.h"

namespace dptrain::data {
namespace {

constexpr std::int64_t kTableRows = 150'000;  // of more than two ranges

double number_of(std::int64_t row) { return 1e6 + static_cast<double>(row * 7919 % 1000) / 8; }
bool lacks_number(std::int64_t row) { return row < 70'000 || row % 10 == 0; }  // all rows of the first range
bool lacks_word(std::int64_t row) { return row % 7 == 0; }

CsvRows made_rows(const TempFolder& folder) {
  std::string text = "number,word,day\n";
  for (std::int64_t row = 0; row < kTableRows; ++row) {
    if (!lacks_number(row)) text += fmt::format("{}", number_of(row));
    text += lacks_word(row) ? "," : fmt::format(",w{}", row % 3);
    text += row % 2 == 0 ? ",2026-11-26\n" : ",2026-11-27\n";
  }
  const std::string file = folder.file("t.csv");
  std::ofstream(file) << text;
  table::Schema schema;
  schema.dialect.header = true;
  schema.columns = {{.name = "number", .type = table::ColumnType::kNumber},
                    {.name = "word", .type = table::ColumnType::kCategory},
                    {.name = "day", .type = table::ColumnType::kDate}};
  schema.missing = {""};
  CsvRows rows;
  rows.table = table::read(std::vector{file}, schema, {});
  return rows;
}

TEST(CsvStatisticsTest, EqualPlainSumsOverTheTrainingRows) {
  const TempFolder folder;
  const CsvRows rows = made_rows(folder);
  std::vector<std::int64_t> samples;
  for (std::int64_t row = 0; row < kTableRows; ++row)
    if (row % 5 != 0) samples.push_back(row);

  long double sum = 0, squares = 0;
  std::int64_t present = 0, words[3] = {}, lack_words = 0;
  for (const std::int64_t row : samples) {
    ++(lacks_word(row) ? lack_words : words[row % 3]);
    if (lacks_number(row)) continue;
    ++present;
    sum += number_of(row);
  }
  const long double mean = sum / present;
  for (const std::int64_t row : samples)
    if (!lacks_number(row)) squares += (number_of(row) - mean) * (number_of(row) - mean);

  const CsvStatistics found = compute_statistics(rows, samples, 2);
  const auto cell = [&](int column) { return static_cast<std::size_t>(rows.table.cell_of(column)); };
  const NumberSums& number = found[cell(0)].sums;
  EXPECT_EQ(number.present, present);
  EXPECT_EQ(number.missing, std::ssize(samples) - present);
  EXPECT_NEAR(number.mean, static_cast<double>(mean), 1e-6);
  EXPECT_NEAR(number.variance, static_cast<double>(squares / present), 1e-6);
  const std::vector<std::string>& vocabulary = rows.table.words(1);
  for (std::size_t i = 0; i < vocabulary.size(); ++i)
    EXPECT_EQ(found[cell(1)].counts[i], words[vocabulary[i].back() - '0']) << vocabulary[i];
  EXPECT_EQ(found[cell(1)].missing_words, lack_words);
  EXPECT_NEAR(found[cell(2)].sums.variance, 1440.0 * 1440 / 4, 1);  // minutes of a day, half of the rows each
}

TEST(CsvStatisticsTest, AreBitIdenticalForAnyNumberOfThreads) {
  const TempFolder folder;
  const CsvRows rows = made_rows(folder);
  std::vector<std::int64_t> samples;
  for (std::int64_t row = kTableRows - 1; row >= 0; --row) samples.push_back(row);
  const CsvStatistics one = compute_statistics(rows, samples, 1);
  for (int threads = 2; threads <= 4; ++threads) {
    const CsvStatistics more = compute_statistics(rows, samples, threads);
    for (std::size_t cell = 0; cell < one.size(); ++cell) {
      EXPECT_EQ(one[cell].sums.mean, more[cell].sums.mean);
      EXPECT_EQ(one[cell].sums.variance, more[cell].sums.variance);
      EXPECT_EQ(one[cell].counts, more[cell].counts);
    }
  }
}

}  // namespace
}  // namespace dptrain::data
