#pragma once

// What is known of the columns before rows are read. A plain value.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "table/dialect.h"
#include "table/number.h"

namespace dptrain::table {

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

}  // namespace dptrain::table
