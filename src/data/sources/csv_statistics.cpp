#include "data/sources/csv_statistics.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <span>

#include "core/activity.h"
#include "core/threads.h"

namespace dptrain::data {
namespace {

/// Samples per partial sum. Fixed, so that the result does not depend on the number of threads.
constexpr std::size_t kRange = std::size_t{1} << 16;

/// Combines two parts of a column: Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance", 1983.
NumberSums combined(const NumberSums& a, const NumberSums& b) {
  const std::int64_t present = a.present + b.present, missing = a.missing + b.missing;
  if (present == 0) return {.missing = missing};
  const auto of_a = static_cast<double>(a.present), of_b = static_cast<double>(b.present);
  const double all = of_a + of_b, apart = b.mean - a.mean;
  return {.present = present,
          .missing = missing,
          .mean = a.mean + apart * of_b / all,
          .variance = (of_a * a.variance + of_b * b.variance + apart * apart * of_a * of_b / all) / all};
}

/// Cell indices by type.
struct Places {
  std::vector<int> numbers, dates, words;
};

Places places_in(const table::Table& table) {
  Places places;
  const std::vector<table::Column>& columns = table.schema().columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const int cell = table.cell_of(static_cast<int>(i));
    if (cell < 0) continue;
    switch (columns[i].type) {
      case table::ColumnType::kNumber: places.numbers.push_back(cell); break;
      case table::ColumnType::kDate: places.dates.push_back(cell); break;
      case table::ColumnType::kCategory: places.words.push_back(cell); break;
      default: break;
    }
  }
  return places;
}

/// Sums over a range of rows for all columns of numbers and dates.
class RangeSums {
 public:
  explicit RangeSums(const Places& places)
      : places_(places), numbers_(places.numbers.size()), values_(numbers_ + places.dates.size()) {}

  void begin() {
    for (std::vector<double>* all : {&shifts_, &sums_, &squares_, &present_}) all->assign(values_.size(), 0);
    rows_ = 0;
  }
  void add(const table::Cell* cells) {
    for (std::size_t i = 0; i < numbers_; ++i) values_[i] = as_number(cells[places_.numbers[i]], false);
    for (std::size_t i = numbers_; i < values_.size(); ++i)
      values_[i] = as_number(cells[places_.dates[i - numbers_]], true);
    ++rows_;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double value = values_[i];
      const bool there = value == value;
      if (present_[i] == 0) shifts_[i] = value;  // avoids cancellation: squares of large numbers lose the variance
      const double distance = there ? value - shifts_[i] : 0;
      present_[i] += there ? 1 : 0;
      sums_[i] += distance;
      squares_[i] += distance * distance;
    }
  }
  std::vector<NumberSums> end() const {
    std::vector<NumberSums> all(values_.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto present = static_cast<std::int64_t>(present_[i]);
      all[i] = {.present = present, .missing = rows_ - present};
      if (present == 0) continue;
      const double apart = sums_[i] / present_[i];
      all[i].mean = shifts_[i] + apart;
      all[i].variance = std::max(0.0, squares_[i] / present_[i] - apart * apart);
    }
    return all;
  }

 private:
  const Places& places_;
  const std::size_t numbers_;
  std::vector<double> values_, shifts_, sums_, squares_, present_;
  std::int64_t rows_ = 0;
};

}  // namespace

CsvStatistics compute_statistics(const CsvRows& rows, const std::vector<std::int64_t>& samples, int threads) {
  const Places places = places_in(rows.table);
  const std::size_t ranges = (samples.size() + kRange - 1) / kRange;
  std::vector<std::vector<NumberSums>> sums(ranges);
  std::atomic<std::size_t> next{0};
  Activity activity("scanning the columns", static_cast<std::int64_t>(samples.size()));

  const auto work = [&] {
    CsvStatistics own(static_cast<std::size_t>(rows.table.cells()));
    for (std::size_t c = 0; c < rows.table.schema().columns.size(); ++c)
      if (const int cell = rows.table.cell_of(static_cast<int>(c)); cell >= 0)
        own[static_cast<std::size_t>(cell)].counts.resize(rows.table.words(static_cast<int>(c)).size());
    RangeSums range(places);
    for (std::size_t r = next++; r < ranges; r = next++) {
      const auto part = std::span(samples).subspan(r * kRange, std::min(kRange, samples.size() - r * kRange));
      range.begin();
      for (const std::int64_t sample : part) {
        const table::Cell* const cells = rows.table.row(rows.row_of(sample));
        range.add(cells);
        for (const int cell : places.words) {
          ColumnStatistics& found = own[static_cast<std::size_t>(cell)];
          const std::int32_t code = cells[cell].code;
          ++(code >= 0 ? found.counts[static_cast<std::size_t>(code)] : found.missing_words);
        }
      }
      sums[r] = range.end();
      activity.advance(static_cast<std::int64_t>(part.size()));
    }
    return own;
  };

  TaskPool pool(threads);
  std::vector<std::future<CsvStatistics>> parts;
  for (int i = 0; i < threads; ++i) parts.push_back(pool.send(work));
  CsvStatistics all = parts.front().get();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const CsvStatistics part = parts[i].get();
    for (std::size_t c = 0; c < all.size(); ++c) {
      all[c].missing_words += part[c].missing_words;
      std::ranges::transform(all[c].counts, part[c].counts, all[c].counts.begin(), std::plus<>());
    }
  }
  for (const std::vector<NumberSums>& of_range : sums)
    for (std::size_t i = 0; i < of_range.size(); ++i) {
      const int cell = i < places.numbers.size() ? places.numbers[i] : places.dates[i - places.numbers.size()];
      NumberSums& sum = all[static_cast<std::size_t>(cell)].sums;
      sum = combined(sum, of_range[i]);
    }
  return all;
}

}  // namespace dptrain::data
