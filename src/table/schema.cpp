#include "table/schema.h"

namespace dptrain::table {

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

std::vector<std::string> usual_missing_words() { return {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"}; }

int Schema::find(std::string_view name) const {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == name) return static_cast<int>(i);
  return -1;
}

}  // namespace dptrain::table
