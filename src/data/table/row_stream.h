#pragma once

// RowStream: the rows of one file, or of what comes in by a file descriptor, block by block and in bounded memory, with
// columns that are known: for prediction. Owned and used by one thread.

#include <memory>
#include <string>
#include <vector>

#include "data/table/reader.h"
#include "data/table/table.h"

namespace dptrain::data::table {

/// Columns whose fields a stream keeps as they stand, whatever the schema reads of them.
struct KeptColumns {
  bool all = false;  ///< of the header
  std::vector<std::string> names{};
};

class RowStream {
 public:
  /// A file, plain or gzip. Of the options, threads has no effect. Reads the header at once. Throws Error{kUsage} where
  /// it lacks a column of `kept`.
  RowStream(const std::string& path, Schema schema, ReadOptions options, KeptColumns kept = {});
  /// What comes in by a descriptor, which stays the caller's; `name` stands in messages ("stdin").
  RowStream(int descriptor, std::string name, Schema schema, ReadOptions options, KeptColumns kept = {});
  ~RowStream();
  RowStream(RowStream&&) noexcept;
  RowStream& operator=(RowStream&&) noexcept;

  /// The next rows, at least one and at most `most`, as soon as they are there: a writer at the other end of a pipe is
  /// not waited for while whole rows are at hand. False at the end. Each table stands by itself, but for its
  /// vocabularies: those of all rows so far, so codes stay. Throws as read() does; a looked-up type that does not hold
  /// is an error, too.
  bool next(Table& rows, std::int64_t most);

  /// The columns that the header names, in its order; without one, those of the schema.
  const std::vector<std::string>& header() const;
  std::int64_t skipped() const;
  /// The columns that are kept, in their order: their places in the schema of each table, for Table::append_text().
  const std::vector<int>& kept() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::data::table
