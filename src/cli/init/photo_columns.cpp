#include "cli/init/photo_columns.h"

#include <algorithm>
#include <filesystem>

#include "data/images/image.h"
#include "data/images/image_info.h"
#include "table/fields.h"
#include "table/row_stream.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kRowsRead = 2'000, kRowsLookedAt = 100;
constexpr double kNearlyAll = 0.9;

}  // namespace

PhotoColumns find_photo_columns(const std::string& path, const table::Schema& schema) {
  table::Schema nothing = schema;
  table::KeptColumns kept;
  for (table::Column& column : nothing.columns) {
    column.kept = false;
    if (column.type != table::ColumnType::kNumber && column.type != table::ColumnType::kDate)
      kept.names.push_back(column.name);
  }
  PhotoColumns found;
  if (kept.names.empty()) return found;
  table::RowStream stream(path, nothing, {.skip = true}, kept);
  table::Table rows;
  if (!stream.next(rows, kRowsRead)) return found;
  const std::int64_t step = std::max<std::int64_t>(1, rows.rows() / kRowsLookedAt);
  std::error_code ignored;
  for (std::size_t c = 0; c < kept.names.size(); ++c) {
    std::int64_t named = 0, there = 0;
    std::vector<Shape> shapes;
    for (std::int64_t row = 0; row < rows.rows(); row += step) {
      std::string cell;
      rows.append_text(stream.kept()[c], row, cell);
      const std::string name(table::trimmed(cell));
      if (name.empty()) continue;
      ++named;
      const std::string file = (fs::path(path).parent_path() / name).string();
      if (data::format_of_name(file).empty() || !fs::is_regular_file(file, ignored)) continue;
      ++there;
      if (const Shape shape = data::peek_image_file(file, {}); shape.rank() == 3) shapes.push_back(shape);
    }
    if (shapes.empty() || static_cast<double>(there) < kNearlyAll * static_cast<double>(named)) continue;
    found.names.push_back(kept.names[c]);
    found.shapes.insert(found.shapes.end(), shapes.begin(), shapes.end());
  }
  return found;
}

}  // namespace dptrain::cli
