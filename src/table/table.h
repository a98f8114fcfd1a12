#pragma once

// Table: rows of typed cells in memory, one row behind the other, without the text of numbers and categories. Made by
// read() (table/read.h); constant from then on, and any thread may read it.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "table/schema.h"

namespace dptrain::table {

/// Four bytes; the column's type says which one it is.
union Cell {
  float number;          ///< kNumber; NaN: missing
  std::int32_t code;     ///< kCategory: place in the vocabulary, kMissing, or kUnknown where the vocabulary was given
  std::int32_t minutes;  ///< kDate: since 1970-01-01 00:00 UTC, rounded down; kNoDate: missing

  static constexpr std::int32_t kMissing = -1;
  static constexpr std::int32_t kUnknown = -2;
  static constexpr std::int32_t kNoDate = std::numeric_limits<std::int32_t>::min();
};
static_assert(sizeof(Cell) == 4);

class TableParts;  // what it is made of; read() fills it

class Table {
 public:
  Table();
  explicit Table(std::unique_ptr<TableParts> parts);
  ~Table();
  Table(Table&&) noexcept;
  Table& operator=(Table&&) noexcept;

  /// As it was read.
  const Schema& schema() const;
  std::int64_t rows() const;
  /// In a row: of kept columns that are numbers, categories or dates, in the schema's order.
  int cells() const;
  /// Where in a row the cell of a column of the schema stands, or -1.
  int cell_of(int column) const;
  /// cells() of them; null where that is 0.
  const Cell* row(std::int64_t i) const;
  /// The row is read soon: the calling core asks for its memory.
  void expect(std::int64_t i) const;

  /// The vocabulary of a category: the one given, else in the order of first appearance, whatever the number of
  /// threads.
  const std::vector<std::string>& words(int column) const;
  /// Of each word, in how many rows it stands.
  const std::vector<std::int64_t>& counts(int column) const;

  /// Appends the text of a kept kText column, without its quotes. Read again from the file where that is plain, else
  /// held in memory. Throws Error{kData} where the file has become shorter or has no such field any more; who must know
  /// of other changes compares the file's stamp.
  void append_text(int column, std::int64_t row, std::string& out) const;

  /// "train.csv:1234": the line where the row begins, counted from 1, as an editor counts.
  std::string place(std::int64_t row) const;
  /// The file of that, as it was opened; "stdin".
  const std::string& file(std::int64_t row) const;
  /// Rows that were left out because they could not be read.
  std::int64_t skipped() const;
  /// Bytes that it holds.
  std::int64_t bytes() const;

 private:
  std::unique_ptr<TableParts> parts_;
};

}  // namespace dptrain::table
