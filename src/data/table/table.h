#pragma once

// Table: rows of typed cells in memory. read() (data/table/reader.h) fills it; then it is immutable, and any thread may
// read it.
//
//   const Table table = read(files, schema, options);
//   const float age = table.row(0)[table.cell_of(table.schema().find("age"))].number;

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/table/types.h"

namespace dptrain::data::table {

enum class ColumnType {
  kNumber,    ///< decimal, as in 12, -0.5 and 1e-3, in the column's NumberFormat; no hexadecimal, no "inf"
  kCategory,  ///< a word of a vocabulary
  kDate,      ///< a day, or a minute of a day
  kText,      ///< arbitrary text
  kId,        ///< different in each row, so not an input. Its fields are only checked against RFC 4180.
};

/// "number", "category", "date", "text", "id".
std::string_view type_name(ColumnType type);

/// Format of a column's dates. kIso: 2026-11-25, optionally with T or a space, 10:20[:30[.5]], and Z, +01:00 or +0100.
/// The others separate with / . or -, as in 25/11/2026, and may have the same times after the date.
enum class DateForm { kIso, kDayFirst, kMonthFirst };

struct Column {
  std::string name;  ///< from the header, or "column1", "column2" without one
  ColumnType type = ColumnType::kNumber;
  bool kept = true;       ///< false: its fields are checked against RFC 4180 and dropped
  bool optional = false;  ///< a file with a header may lack the column; its cells are then missing
  /// A kText column with the unchanged fields of the column of the same name, which may also be in the schema. Such
  /// columns are last.
  bool verbatim = false;
  DateForm form = DateForm::kIso;
  NumberFormat numbers{};  ///< kNumber
  /// A closed vocabulary: a word's code is its index, and other words are Cell::kUnknown.
  std::optional<std::vector<std::string>> words{};
};

/// Fields that mark a missing value. Spaces around unquoted fields are ignored, also in numbers, dates and categories.
std::vector<std::string> default_missing_words();

/// The columns of a table, determined before rows are read.
struct Schema {
  Dialect dialect;
  std::vector<Column> columns;  ///< in the order of the first file
  std::vector<std::string> missing = default_missing_words();

  /// The column's index, or -1.
  int find(std::string_view name) const;
};

/// Four bytes; the column's type determines the member.
union Cell {
  float number;          ///< kNumber; NaN: missing
  std::int32_t code;     ///< kCategory: index in the vocabulary, kMissing, or kUnknown (closed vocabularies)
  std::int32_t minutes;  ///< kDate: since 1970-01-01 00:00 UTC, rounded down; kNoDate: missing

  static constexpr std::int32_t kMissing = -1;
  static constexpr std::int32_t kUnknown = -2;
  static constexpr std::int32_t kNoDate = std::numeric_limits<std::int32_t>::min();
};
static_assert(sizeof(Cell) == 4);

class TableParts;

class Table {
 public:
  Table();
  explicit Table(std::unique_ptr<TableParts> parts);
  ~Table();
  Table(Table&&) noexcept;
  Table& operator=(Table&&) noexcept;

  const Schema& schema() const;
  std::int64_t rows() const;
  /// Cells in a row: kept columns of numbers, categories and dates, in the schema's order.
  int cells() const;
  /// Index in a row of the cell of a column, or -1.
  int cell_of(int column) const;
  /// The row's cells(); null if there are none.
  const Cell* row(std::int64_t i) const;
  /// Prefetches a row.
  void prefetch_row(std::int64_t i) const;

  /// The vocabulary of a category: the closed one, else the words in the order of first appearance, independent of the
  /// number of threads.
  const std::vector<std::string>& words(int column) const;
  /// The number of rows with each word.
  const std::vector<std::int64_t>& counts(int column) const;

  /// Appends the text of a kept kText column without its quotes: from memory, or read again from an uncompressed file.
  /// Throws Error{kData} if the file has become shorter or the field has an unclosed quote in its place. Other changes
  /// are not detected; compare the file's stamp.
  void append_text(int column, std::int64_t row, std::string& out) const;

  /// "train.csv:1234": the line where the row begins, counted from 1.
  std::string place(std::int64_t row) const;
  /// Path of the row's file as it was opened, or "stdin".
  const std::string& file(std::int64_t row) const;
  /// Number of rows skipped because they could not be read.
  std::int64_t skipped() const;
  /// Memory in bytes.
  std::int64_t bytes() const;

 private:
  std::unique_ptr<TableParts> parts_;
};

}  // namespace dptrain::data::table
