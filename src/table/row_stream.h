#pragma once

// RowStream: the rows of one file, or of what comes in by a file descriptor, block by block and in bounded memory, with
// columns that are known: for prediction. Owned and used by one thread.

#include <memory>
#include <string>

#include "table/read.h"
#include "table/schema.h"
#include "table/table.h"

namespace dptrain::table {

class RowStream {
 public:
  /// A file, plain or gzip. Of the options, threads has no effect. Reads the header at once.
  RowStream(const std::string& path, Schema schema, ReadOptions options);
  /// What comes in by a descriptor, which stays the caller's; `name` stands in messages ("stdin").
  RowStream(int descriptor, std::string name, Schema schema, ReadOptions options);
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

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::table
