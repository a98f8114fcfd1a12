#pragma once

// Looking at the first rows of files, to say what their columns hold. Called by one thread; reads some MiB of the first
// file and the header of each.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/file_bytes.h"
#include "table/schema.h"

namespace dptrain::table {

/// Statistics of a column in the sample.
struct ColumnFacts {
  std::int64_t filled = 0;            ///< fields that are not missing
  std::int64_t missing = 0;           ///< fields that are
  std::int64_t distinct = 0;          ///< different ones among those filled
  std::int64_t misfits = 0;           ///< fields that are not of the column's type, which is a number or a date
  bool numbers = false;               ///< at least 95% of the fields are numbers, whatever the type
  bool whole = false;                 ///< numbers without a fraction
  double least = 0, most = 0;         ///< range of numbers; dates in minutes since 1970
  double mean_length = 0;             ///< bytes
  std::vector<std::string> examples;  ///< up to five different fields
  std::string trouble;                ///< the reason why fields that look like numbers cannot be read as numbers, or ""
};

struct LookOptions {
  DialectWish dialect{};
  std::map<std::string, ColumnType> declared{};  ///< types that the config sets, by column
  std::vector<std::string> missing = usual_missing_words();
  std::int64_t rows = 10'000;    ///< least rows of the sample, if there are so many,
  std::int64_t bytes = 1 << 20;  ///< and least bytes
  bool ranges = true;            ///< false: does not set whole, least and most of ColumnFacts
};

struct Looked {
  Schema schema;
  std::vector<ColumnFacts> facts;  ///< of each column
  std::int64_t rows = 0;           ///< rows in the sample
  std::int64_t bad_rows = 0;       ///< rows in the sample that cannot be read
  bool all = false;                ///< whether the sample has all rows of all files
};

/// Detects types in this order: numbers; dates of one form; ids, which all differ (integers that count from 0 or 1 or
/// have the name of an id, or words of one shape such as UUIDs); text, which mostly differs, has spaces or is long;
/// categories. Of 20 or more fields 5% may be other than a number or a date: they are bad cells of such a column. A
/// column without any filled field is a category.
///
/// Formats of numbers: each column has the one that fits the most fields. If several fit equally well,
/// `dialect.decimal` decides, else the mark of a column that has only one, else the first of kNumberMarks. A column of
/// fields like 1,234 alone then has `trouble`.
///
/// Rows that break RFC 4180 are skipped here and reported when they are read. Throws Error{kData} for files that cannot
/// be opened, are empty or differ in their columns (with headers: in names; another order is fine), for a header with a
/// name twice and for bytes in UTF-16; Error{kUsage} for a declared column that is not there.
Looked look(const std::vector<std::string>& files, const LookOptions& options);
/// For files that are open already, or in memory.
Looked look(const std::vector<std::shared_ptr<const FileBytes>>& files, const LookOptions& options);

}  // namespace dptrain::table
