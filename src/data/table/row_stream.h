#pragma once

// RowStream reads the rows of one file or file descriptor block by block in bounded memory, with a given schema, for
// prediction. Owned and used by one thread.

#include <memory>
#include <string>
#include <vector>

#include "data/table/reader.h"
#include "data/table/table.h"

namespace dptrain::data::table {

/// Columns whose fields a stream keeps unchanged, in addition to those that the schema reads.
struct PassthroughColumns {
  bool all = false;  ///< all columns of the header
  std::vector<std::string> names{};
};

class RowStream {
 public:
  /// Opens a plain or gzip file and reads its header. Ignores `options.threads`. Throws Error{kUsage} if the file lacks
  /// a column of `passthrough`.
  RowStream(const std::string& path, Schema schema, ReadOptions options, PassthroughColumns passthrough = {});
  /// Reads a descriptor, which the caller owns. `name`: for messages, "stdin".
  RowStream(int descriptor, std::string name, Schema schema, ReadOptions options, PassthroughColumns passthrough = {});
  ~RowStream();
  RowStream(RowStream&&) noexcept;
  RowStream& operator=(RowStream&&) noexcept;

  /// Reads the next 1 to `most` rows; false at the end. With a descriptor, returns whole rows that have arrived instead
  /// of waiting for more. All tables share the vocabularies, which each call extends, so a word keeps its code. Throws
  /// as read() does, and if a field does not have the detected type.
  bool next(Table& rows, std::int64_t most);

  /// Column names in the order of the header, or of the schema without one.
  const std::vector<std::string>& header() const;
  std::int64_t skipped() const;
  /// Index in each table's schema of each passthrough column, for Table::append_text().
  const std::vector<int>& passthrough() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::data::table
