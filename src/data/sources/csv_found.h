#pragma once

// What one pass over the training rows of a table finds in all of its columns together: a pass for each column would
// bring every row as often from memory.

#include <cstdint>
#include <limits>
#include <vector>

#include "data/encoders/encoder.h"
#include "data/sources/csv_rows.h"

namespace dptrain::data {

/// Of the training rows.
struct FoundInColumn {
  NumberSums sums;                     ///< kNumber, kDate
  std::vector<std::int64_t> counts{};  ///< kCategory: of each of the table's words
  std::int64_t missing_words = 0;
};
/// By cell of a row.
using CsvFound = std::vector<FoundInColumn>;

/// The same with any number of threads.
CsvFound find_in(const CsvRows& rows, const std::vector<std::int64_t>& samples, int threads);

/// A cell of numbers or dates as a number; NaN: missing.
inline double as_number(const table::Cell& cell, bool is_date) {
  if (!is_date) return static_cast<double>(cell.number);
  return cell.minutes == table::Cell::kNoDate ? std::numeric_limits<double>::quiet_NaN()
                                              : static_cast<double>(cell.minutes);
}

}  // namespace dptrain::data
