#pragma once

// Table: rows of typed cells in memory, without the text of numbers and categories. read() (data/table/reader.h) makes
// it; it is constant from then on, and any thread may read it.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/table/types.h"

namespace dptrain::data::table {

// Schema: the columns, as determined before rows are read. A plain value.

enum class ColumnType {
  kNumber,    ///< decimal, as in 12, -0.5 and 1e-3, in the column's NumberFormat; no hexadecimal, no "inf"
  kCategory,  ///< one of some words
  kDate,      ///< a day, or a minute of a day
  kText,      ///< sentences
  kId,        ///< different in each row, so useless to a network. Its fields are only checked against RFC 4180.
};

/// "number", "category", "date", "text", "id".
std::string_view type_name(ColumnType type);

/// How a column writes its dates. kIso: 2026-11-25, alone or with T or a space and 10:20[:30[.5]] and perhaps Z, +01:00
/// or +0100. The others separate with / . or -, as in 25/11/2026, and may have the same times of day after the date.
enum class DateForm { kIso, kDayFirst, kMonthFirst };

struct Column {
  std::string name;  ///< from the header, or "column1", "column2" without one
  ColumnType type = ColumnType::kNumber;
  bool kept = true;       ///< false: its fields are checked against RFC 4180 and dropped
  bool optional = false;  ///< a file with a header may lack the column; its cells are missing then
  /// A kText with the unchanged field of the column of the same name, which may also be in the schema. These columns
  /// are last.
  bool verbatim = false;
  DateForm form = DateForm::kIso;
  NumberFormat numbers{};  ///< kNumber
  /// A given vocabulary: a word's index is its code, and other words are Cell::kUnknown.
  std::optional<std::vector<std::string>> words{};
};

/// Fields that mark a missing value. Spaces around an unquoted field do not count, here and in numbers, dates and
/// categories.
std::vector<std::string> usual_missing_words();

struct Schema {
  Dialect dialect;
  std::vector<Column> columns;  ///< in the order of the first file
  std::vector<std::string> missing = usual_missing_words();

  /// The column's place, or -1.
  int find(std::string_view name) const;
};

/// Four bytes; the column's type determines the member.
union Cell {
  float number;          ///< kNumber; NaN: missing
  std::int32_t code;     ///< kCategory: place in the vocabulary, kMissing, or kUnknown where the vocabulary was given
  std::int32_t minutes;  ///< kDate: since 1970-01-01 00:00 UTC, rounded down; kNoDate: missing

  static constexpr std::int32_t kMissing = -1;
  static constexpr std::int32_t kUnknown = -2;
  static constexpr std::int32_t kNoDate = std::numeric_limits<std::int32_t>::min();
};
static_assert(sizeof(Cell) == 4);

class TableParts;  // the contents; read() fills them

class Table {
 public:
  Table();
  explicit Table(std::unique_ptr<TableParts> parts);
  ~Table();
  Table(Table&&) noexcept;
  Table& operator=(Table&&) noexcept;

  /// The schema by which it was read.
  const Schema& schema() const;
  std::int64_t rows() const;
  /// Cells in a row: those of kept columns of numbers, categories or dates, in the schema's order.
  int cells() const;
  /// Index in a row of the cell of a column of the schema, or -1.
  int cell_of(int column) const;
  /// The row's cells(); null if there are none.
  const Cell* row(std::int64_t i) const;
  /// Prefetches a row that is read soon.
  void expect(std::int64_t i) const;

  /// The vocabulary of a category: the given one, else the words in the order of first appearance, for any number of
  /// threads.
  const std::vector<std::string>& words(int column) const;
  /// The number of rows with each word.
  const std::vector<std::int64_t>& counts(int column) const;

  /// Appends the text of a kept kText column, without its quotes. Read again from the file if that is uncompressed,
  /// else held in memory. Throws Error{kData} if the file has become shorter or has no such field any more. Compare the
  /// file's stamp to detect other changes.
  void append_text(int column, std::int64_t row, std::string& out) const;

  /// "train.csv:1234": the line where the row begins, counted from 1, as an editor counts.
  std::string place(std::int64_t row) const;
  /// The name of that file as it was opened; "stdin".
  const std::string& file(std::int64_t row) const;
  /// Rows that were left out because they could not be read.
  std::int64_t skipped() const;
  /// Memory in bytes.
  std::int64_t bytes() const;

 private:
  std::unique_ptr<TableParts> parts_;
};

}  // namespace dptrain::data::table
