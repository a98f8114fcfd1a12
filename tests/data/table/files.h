#pragma once

// Files of rows in memory, and their schemas.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "data/table/bytes.h"
#include "data/table/reader.h"
#include "data/table/sniffer.h"

namespace dptrain::data::table::test {

using Files = std::vector<std::shared_ptr<const FileBytes>>;

inline std::shared_ptr<const FileBytes> file_of(std::string_view text, std::string name = "a.csv") {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return FileBytes::from_memory(std::move(name), {begin, begin + text.size()}, csv_file_errors());
}

/// Columns "column1", ... of these types, no header.
inline Schema schema_of(const std::vector<ColumnType>& types) {
  Schema schema;
  schema.dialect.header = false;
  for (std::size_t i = 0; i < types.size(); ++i)
    schema.columns.push_back({.name = "column" + std::to_string(i + 1), .type = types[i]});
  return schema;
}

inline std::string text_of(const Table& table, int column, std::int64_t row) {
  std::string text;
  table.append_text(column, row, text);
  return text;
}

inline float number(const Table& table, int column, std::int64_t row) {
  return table.row(row)[table.cell_of(column)].number;
}

/// The word of a category, or "(missing)" and "(unknown)".
inline std::string word(const Table& table, int column, std::int64_t row) {
  const std::int32_t code = table.row(row)[table.cell_of(column)].code;
  if (code == Cell::kMissing) return "(missing)";
  if (code == Cell::kUnknown) return "(unknown)";
  return table.words(column)[static_cast<std::size_t>(code)];
}

}  // namespace dptrain::data::table::test
