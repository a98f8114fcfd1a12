#pragma once

// Table: rows of typed cells in memory, without the text of numbers and categories. read() (table/reader.h) makes it;
// it is constant from then on, and any thread may read it.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "table/types.h"

namespace dptrain::table {

// Schema: what is known of the columns before rows are read. A plain value.

enum class ColumnType {
  kNumber,    ///< decimal, as in 12, -0.5 and 1e-3, in the column's NumberFormat; no hexadecimal, no "inf"
  kCategory,  ///< one of some words
  kDate,      ///< a day, or a minute of a day
  kText,      ///< sentences
  kId,        ///< another one in each row: of no use to a network. Its fields are held to RFC 4180 alone.
};

/// "number", "category", "date", "text", "id".
std::string_view type_name(ColumnType type);

/// How a column writes its dates. kIso: 2026-11-25, alone or with T or a space and 10:20[:30[.5]] and perhaps Z, +01:00
/// or +0100. The others have / . or - between, 25/11/2026, and the same times of day behind.
enum class DateForm { kIso, kDayFirst, kMonthFirst };

struct Column {
  std::string name;  ///< from the header, or "column1", "column2" without one
  ColumnType type = ColumnType::kNumber;
  bool kept = true;       ///< false: its fields are held to RFC 4180 and forgotten
  bool optional = false;  ///< a file with a header may lack the column; its cells are missing then
  /// A kText with the unchanged field of the column of that name, which the schema may contain as well. These columns
  /// are last.
  bool verbatim = false;
  DateForm form = DateForm::kIso;
  NumberFormat numbers{};  ///< kNumber
  /// A vocabulary from elsewhere: a word's place is its code, and others are Cell::kUnknown.
  std::optional<std::vector<std::string>> words{};
};

/// Fields that mean nothing. Spaces around a field that is not in quotes do not count, here and in numbers, dates and
/// categories.
std::vector<std::string> usual_missing_words();

struct Schema {
  Dialect dialect;
  std::vector<Column> columns;  ///< in the order of the first file
  std::vector<std::string> missing = usual_missing_words();

  /// The column's place, or -1.
  int find(std::string_view name) const;
};

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
