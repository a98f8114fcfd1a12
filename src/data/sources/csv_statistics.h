#pragma once

// Statistics of all columns of a table's training rows, computed in one pass: a pass per column would load every row
// as many times.

#include <cstdint>
#include <limits>
#include <vector>

#include "data/encoders/encoder.h"
#include "data/sources/csv_rows.h"

namespace dptrain::data {

/// Statistics of one column.
struct ColumnStatistics {
  NumberSums sums;                     ///< kNumber, kDate
  std::vector<std::int64_t> counts{};  ///< kCategory: count of each of the table's words
  std::int64_t missing_words = 0;
};
/// Indexed by the cell of a row.
using CsvStatistics = std::vector<ColumnStatistics>;

/// The result does not depend on `threads`.
CsvStatistics compute_statistics(const CsvRows& rows, const std::vector<std::int64_t>& samples, int threads);

/// A cell as a number, dates in minutes; NaN if it is missing.
inline double as_number(const table::Cell& cell, bool is_date) {
  if (!is_date) return static_cast<double>(cell.number);
  return cell.minutes == table::Cell::kNoDate ? std::numeric_limits<double>::quiet_NaN()
                                              : static_cast<double>(cell.minutes);
}

}  // namespace dptrain::data
