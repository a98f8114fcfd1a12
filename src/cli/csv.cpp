#include "cli/csv.h"

#include <charconv>
#include <limits>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "train/line_file.h"

namespace dptrain::cli {

std::string csv_field(const std::string& text) { return dptrain::csv_field(text); }

NumberTable read_numbers(const std::string& path) {
  const std::vector<std::string> lines = train::LineFile::read(path);
  if (lines.empty())
    throw Error(ErrorKind::kData, fmt::format("{}: missing or empty; expected a table with a header", path));
  NumberTable table;
  table.columns = split(lines.front(), ',');
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = split(lines[i], ',');
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      double value = std::numeric_limits<double>::quiet_NaN();
      if (c < fields.size()) std::from_chars(fields[c].data(), fields[c].data() + fields[c].size(), value);
      table.values[table.columns[c]].push_back(value);
    }
  }
  return table;
}

}  // namespace dptrain::cli
