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

/// What the sample says of one column.
struct ColumnFacts {
  std::int64_t filled = 0;            ///< fields that are not missing
  std::int64_t missing = 0;           ///< fields that are
  std::int64_t distinct = 0;          ///< different ones among those filled
  std::int64_t misfits = 0;           ///< fields that are not of the column's type, which is a number or a date
  bool numbers = false;               ///< all fields but such misfits are numbers, whatever the column's type
  bool whole = false;                 ///< numbers without a fraction
  double least = 0, most = 0;         ///< of numbers; of dates in minutes since 1970
  double mean_length = 0;             ///< bytes
  std::vector<std::string> examples;  ///< up to five different ones, as they stand
  std::string trouble;                ///< why its fields, which look like numbers, cannot be read as such; or ""
};

struct LookOptions {
  DialectWish dialect{};
  std::map<std::string, ColumnType> declared{};  ///< types that somebody has said, by column
  std::vector<std::string> missing = usual_missing_words();
  std::int64_t rows = 10'000;    ///< of the sample at least, as far as there are so many,
  std::int64_t bytes = 1 << 20;  ///< and so many bytes at least
  bool ranges = true;            ///< false: leaves whole, least and most of ColumnFacts out
};

struct Looked {
  Schema schema;
  std::vector<ColumnFacts> facts;  ///< of each column
  std::int64_t rows = 0;           ///< that were looked at
  std::int64_t bad_rows = 0;       ///< among these, that cannot be read
  bool all = false;                ///< and these are all rows of all files
};

/// Types: numbers (whole ones of few kinds, too), else dates that all have one form, else ids (all different and no
/// fractions: integers that run from 0 or 1 or whose name says so, or words of one shape, as UUIDs are), else text
/// (mostly different, with spaces, or long), else categories. Of 20 or more fields 5% may be other than a number or a
/// date: they are bad cells of such a column. A column without any filled field is a category.
///
/// Formats of numbers: each column has the one that fits the most fields. Where several fit alike, `dialect.decimal`
/// decides, else the mark that alone fits some column, else the first of kNumberMarks; but 1,234 is then `trouble`.
/// Rows
/// that break RFC 4180 are passed over here: reading them says so. Throws Error{kData} for files that cannot be opened,
/// are empty or differ in their columns (with headers: in names; another order is fine), for a header with a name twice
/// and for bytes in UTF-16; Error{kUsage} for a declared column that is not there.
Looked look(const std::vector<std::string>& files, const LookOptions& options);
/// The same of files that are open already, or in memory.
Looked look(const std::vector<std::shared_ptr<const FileBytes>>& files, const LookOptions& options);

}  // namespace dptrain::table
