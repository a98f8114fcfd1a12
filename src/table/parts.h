#pragma once

// TableParts: what a Table is made of. append() is called by one thread at a time, in the order of the rows.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/file_bytes.h"
#include "table/convert.h"
#include "table/layout.h"
#include "table/pages.h"
#include "table/table.h"
#include "table/words.h"

namespace dptrain::table {

/// Where the rows of a block lie in a file.
struct BlockPlace {
  int file;
  std::uint64_t first_line;  ///< of the block, from 0
};

class TableParts {
 public:
  /// `vocabularies` of all columns, which others may go on to fill.
  TableParts(Schema schema, std::shared_ptr<std::vector<Vocabulary>> vocabularies);

  /// The number of a file, in messages and for its texts. Where `bytes` is null texts are held.
  int add_file(std::string name, std::shared_ptr<const FileBytes> bytes);
  /// Rows [first, first + count) of what was converted from a block; its texts stand in `text` from the file's `offset`
  /// on. Returns the first one's number: their cells are yet to be copied, by copy_cells().
  std::int64_t append(const Converted& rows, std::size_t first, std::size_t count, const BlockPlace& place,
                      const char* text, std::uint64_t offset);

  /// Adds how often a thread has met each word.
  void add_counts(Converter& converter);

  Schema schema;
  Layout layout;
  std::shared_ptr<std::vector<Vocabulary>> vocabularies;
  std::vector<std::vector<std::int64_t>> counts;  ///< of each column's words
  Pages<Cell> cells;
  std::int64_t rows = 0, skipped = 0;

  std::string place(std::int64_t row) const;
  const std::string& file(std::int64_t row) const { return file_of(row).name; }
  void append_text(int column, std::int64_t row, std::string& out) const;
  std::int64_t bytes() const;

 private:
  struct Run {
    std::int64_t row;
    std::uint64_t line;
    int file;
  };
  struct File {
    std::string name;
    std::shared_ptr<const FileBytes> bytes;
    std::int64_t first_row;
  };
  struct Held {
    std::uint64_t offset;  // of its first byte among all that are held
    std::string text;
  };
  const File& file_of(std::int64_t row) const;

  Pages<TextSpan> texts_;
  std::vector<Run> runs_;
  std::vector<File> files_;
  std::vector<Held> held_;
  std::uint64_t held_bytes_ = 0;
};

/// Copies the cells of rows from `first` on to where append() said they are.
void copy_cells(const Converted& rows, std::size_t first, const std::vector<Pages<Cell>::Piece>& to);

}  // namespace dptrain::table
