#include "data/table/table.h"

#include <algorithm>
#include <utility>

#include "core/memory.h"
#include "data/table/parts.h"

namespace dptrain::data::table {

std::string_view type_name(ColumnType type) {
  switch (type) {
    case ColumnType::kNumber: return "number";
    case ColumnType::kCategory: return "category";
    case ColumnType::kDate: return "date";
    case ColumnType::kText: return "text";
    case ColumnType::kId: return "id";
  }
  return "";
}

std::vector<std::string> default_missing_words() {
  return {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"};
}

int Schema::find(std::string_view name) const {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == name) return static_cast<int>(i);
  return -1;
}

Table::Table() : Table(std::make_unique<TableParts>(Schema{}, std::make_shared<std::vector<Vocabulary>>())) {}
Table::Table(std::unique_ptr<TableParts> parts) : parts_(std::move(parts)) {}
Table::~Table() = default;
Table::Table(Table&&) noexcept = default;
Table& Table::operator=(Table&&) noexcept = default;

const Schema& Table::schema() const { return parts_->schema; }
std::int64_t Table::rows() const { return parts_->rows; }
int Table::cells() const { return parts_->layout.cells; }
int Table::cell_of(int column) const { return parts_->layout.cell_of[static_cast<std::size_t>(column)]; }
const Cell* Table::row(std::int64_t i) const { return parts_->cells.row(i); }
void Table::prefetch_row(std::int64_t i) const {
  constexpr std::size_t kCellsInLine = 16, kMax = 8 * kCellsInLine;  // the hardware prefetches the rest of wider rows
  const Cell* const cells = row(i);
  const std::size_t count = std::min(parts_->cells.width(), kMax);
  for (std::size_t c = 0; c < count; c += kCellsInLine) prefetch(cells + c);
  if (count > 0) prefetch(cells + count - 1);
}

const std::vector<std::string>& Table::words(int column) const {
  return (*parts_->vocabularies)[static_cast<std::size_t>(column)].words();
}
const std::vector<std::int64_t>& Table::counts(int column) const {
  return parts_->counts[static_cast<std::size_t>(column)];
}

void Table::append_text(int column, std::int64_t row, std::string& out) const { parts_->append_text(column, row, out); }
std::string Table::place(std::int64_t row) const { return parts_->place(row); }
const std::string& Table::file(std::int64_t row) const { return parts_->file(row); }
std::int64_t Table::skipped() const { return parts_->skipped; }
std::int64_t Table::bytes() const { return parts_->bytes(); }

}  // namespace dptrain::data::table
