#include "table/layout.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::table {

std::string column_name(std::size_t i) { return fmt::format("column{}", i + 1); }

void settle_names(std::vector<std::string>& names, const std::string& file) {
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) names[i] = column_name(i);
    const auto [first, fresh] = seen.emplace(names[i], i);
    if (!fresh)
      throw Error(
          ErrorKind::kData,
          fmt::format(
              "{}:1:1: found the name '{}' for columns {} and {}, expected another one for each; if the first row is "
              "no header, say so",
              file, printable(names[i]), first->second + 1, i + 1));
  }
}

Cell missing_cell(ColumnType type) {
  Cell cell{};
  if (type == ColumnType::kNumber)
    cell.number = std::numeric_limits<float>::quiet_NaN();
  else if (type == ColumnType::kCategory)
    cell.code = Cell::kMissing;
  else
    cell.minutes = Cell::kNoDate;
  return cell;
}

namespace {

/// Whether numbers without thousands are as in 1.5. The others of such a column are read one by one.
bool is_decimal_point(const NumberFormat& format) { return format.decimal == '.' && format.sign.empty(); }

}  // namespace

Layout::Layout(const Schema& schema) {
  for (const Column& column : schema.columns) {
    const bool text = column.kept && column.type == ColumnType::kText;
    const bool cell = column.kept && !text && column.type != ColumnType::kId;
    cell_of.push_back(cell ? cells++ : -1);
    text_of.push_back(text ? texts++ : -1);
  }
}

FileLayout::FileLayout(const Schema& schema, const Layout& layout, std::vector<std::string> header,
                       const std::string& file)
    : count(schema.dialect.header
                ? header.size()
                : static_cast<std::size_t>(std::ranges::count(schema.columns, false, &Column::verbatim))),
      names(std::move(header)) {
  settle_names(names, file);
  std::vector<int> field_of(schema.columns.size(), -1);
  if (schema.dialect.header) {
    std::unordered_map<std::string, int> fields;
    for (std::size_t i = 0; i < names.size(); ++i) fields.emplace(names[i], static_cast<int>(i));
    for (std::size_t c = 0; c < schema.columns.size(); ++c) {
      const auto at = fields.find(schema.columns[c].name);
      if (at != fields.end()) {
        field_of[c] = at->second;
      } else if (!schema.columns[c].optional) {
        const std::string& name = schema.columns[c].name;
        throw Error(ErrorKind::kData, fmt::format("{}:1:1: found no column '{}' in the header, expected it{}", file,
                                                  printable(name), did_you_mean(name, names)));
      }
    }
  } else {
    for (std::size_t c = 0; c < schema.columns.size(); ++c) {
      if (c < count) names.push_back(schema.columns[c].name);
      field_of[c] = c < count ? static_cast<int>(c) : schema.find(schema.columns[c].name);
    }
  }
  column_of.assign(count, -1);
  for (std::size_t c = 0; c < schema.columns.size(); ++c) {
    const int slot = layout.cell_of[c] >= 0 ? layout.cell_of[c] : layout.text_of[c];
    if (field_of[c] >= 0 && !schema.columns[c].verbatim)
      column_of[static_cast<std::size_t>(field_of[c])] = static_cast<int>(c);
    if (slot < 0) continue;
    const ColumnType type = schema.columns[c].type;
    const Place place{static_cast<std::uint32_t>(field_of[c]), static_cast<std::uint32_t>(slot), static_cast<int>(c)};
    if (field_of[c] < 0) {
      if (type != ColumnType::kText) absent.push_back(place);
    } else if (type == ColumnType::kNumber && !is_decimal_point(schema.columns[c].numbers)) {
      formatted_numbers.push_back(place);
    } else if (type == ColumnType::kNumber) {
      number_fields.push_back(place.field);
      number_slots.push_back(place.slot);
      number_columns.push_back(place.column);
    } else {
      (type == ColumnType::kDate ? dates : type == ColumnType::kCategory ? categories : texts).push_back(place);
    }
  }
}

}  // namespace dptrain::table
