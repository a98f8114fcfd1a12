#include "cli/passthrough_columns.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/table/fields.h"

namespace dptrain::cli {

data::table::PassthroughColumns passthrough_columns(const std::vector<std::string>& lists) {
  data::table::PassthroughColumns passthrough;
  for (const std::string& list : lists) {
    const data::table::Row row = data::table::take_row(list, ',', true);
    if (!row.sound || row.fields.empty())
      throw Error(
          ErrorKind::kUsage,
          fmt::format("--keep: found '{}', expected names of columns, as in age,kind, or all", printable(list)));
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
      passthrough.all = passthrough.all || (row.fields[i] == "all" && !row.quoted[i]);
      if (std::ranges::find(passthrough.names, row.fields[i]) != passthrough.names.end())
        throw Error(ErrorKind::kUsage,
                    fmt::format("--keep: the column '{}' is listed twice", printable(row.fields[i])));
      passthrough.names.push_back(row.fields[i]);
    }
  }
  if (passthrough.all && passthrough.names.size() > 1)
    throw Error(ErrorKind::kUsage,
                "--keep: all cannot be combined with other names; write '\"all\"' for a column called all");
  return passthrough;
}

std::string passthrough_header(const std::vector<std::string>& passthrough, const std::string& others) {
  std::vector<std::string> taken = data::table::take_row(others, ',', true).fields;
  taken.insert(taken.end(), passthrough.begin(), passthrough.end());
  std::string text;
  for (std::string name : passthrough) {
    if (std::ranges::count(taken, name) > 1) {
      do name = "input_" + name;
      while (std::ranges::find(taken, name) != taken.end());
      taken.push_back(name);
    }
    text += "," + csv_field(name);
  }
  return text;
}

}  // namespace dptrain::cli
