#pragma once

// Layout: where the cells of a schema stand in a row of the table. FileLayout: which field of one file is which column.
// Both are constant once made; any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/csv.h"
#include "table/schema.h"
#include "table/table.h"

namespace dptrain::table {

struct Layout {
  explicit Layout(const Schema& schema);

  std::vector<int> cell_of;  ///< of each column, or -1
  std::vector<int> text_of;  ///< likewise, among the texts of a row
  int cells = 0, texts = 0;
};

/// A cell that means nothing.
Cell missing_cell(ColumnType type);

struct FileLayout {
  /// `names`: of the header, or empty without one. Throws Error{kData} where a column is not there, or a name twice.
  FileLayout(const Schema& schema, const Layout& layout, std::vector<std::string> names, const std::string& file);

  std::size_t count = 0;           ///< fields in a row
  std::vector<std::string> names;  ///< of each field
  std::vector<int> column_of;      ///< of each field, or -1

  struct Place {
    std::uint32_t field, slot;
    int column;
  };
  std::vector<std::uint32_t> number_fields, number_slots;  // in the form of the kernel
  std::vector<int> number_columns;
  std::vector<Place> formatted_numbers;  ///< with a decimal comma or a sign, which the kernel does not support
  std::vector<Place> dates, categories, texts;
  std::vector<Place> absent;  ///< cells without a field

  kernels::cpu::CsvColumns numbers() const { return {number_fields.data(), number_slots.data(), number_fields.size()}; }
};

/// "train.csv:1:1: ..." in Error{kData} where a header has a name twice; names that are empty are given one.
void settle_names(std::vector<std::string>& names, const std::string& file);
/// "column3", for the third.
std::string column_name(std::size_t i);

}  // namespace dptrain::table
