#pragma once

// Reading files of rows into a Table. The call returns when all is read; it starts threads of its own and ends them.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/file_bytes.h"
#include "table/schema.h"
#include "table/table.h"

namespace dptrain::table {

/// A row that cannot be read.
struct BadRow {
  std::string place;   ///< "train.csv:12:7": line, and byte in that line, from 1
  std::string column;  ///< or "" where the row as a whole is wrong
  std::string words;   ///< what was found, what was expected, what to try

  /// "train.csv:12:7: column 'age': found ...".
  std::string str() const;
};

struct ReadOptions {
  int threads = 1;
  bool skip = false;  ///< leave rows out that cannot be read; else the first one in the files is an Error{kData}
  /// Hears of each row left out, in the order of the files, from any of the threads but never from two at a time. May
  /// throw.
  std::function<void(const BadRow&)> on_bad{};
  std::int64_t block_bytes = 256 << 10;    ///< that a thread takes at a time; results do not depend on it
  std::int64_t most_row_bytes = 64 << 20;  ///< longer rows cannot be read
  std::int64_t most_words = 4'000'000;     ///< of one column's vocabulary; more are an error
};

/// Reads all rows of the files, plain or gzip by their first bytes, in order. With a header columns are found by name,
/// and columns that the schema lacks are ignored; without one each row has the schema's number of fields. A vocabulary
/// in the schema is not extended.
///
/// A row is bad if it has another number of fields, a quote that does not end or is within a field without quotes, a
/// NUL byte, a category or text that is not UTF-8, a field that is not of the column's type, a number beyond the range
/// of floats, or more than most_row_bytes. Reading continues after the row; after a quote that does not end, in the
/// next line. Throws Error{kData} for a bad row unless `skip` is set, and for a file that cannot be read.
Table read(const std::vector<std::string>& files, const Schema& schema, const ReadOptions& options);
/// The same of files that are open already, or in memory (table/bytes.h has their voice).
Table read(const std::vector<std::shared_ptr<const FileBytes>>& files, const Schema& schema,
           const ReadOptions& options);

}  // namespace dptrain::table
