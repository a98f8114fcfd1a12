#include "table/dialect.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "table/date.h"
#include "table/number.h"
#include "table/row.h"

namespace dptrain::table {
namespace {

constexpr std::size_t kMostRows = 200;
constexpr std::array kSeparators{',', ';', '\t', '|'};

using Rows = std::vector<std::vector<std::string>>;

/// The first rows; the last one of the text only if it is the only one. A line whose quote does not end is left out.
Rows first_rows(std::string_view text, char separator) {
  Rows rows;
  while (!text.empty() && rows.size() < kMostRows) {
    Row row = take_row(text, separator, false);
    if (!row.whole && rows.empty()) row = take_row(text, separator, true);
    if (const std::size_t line = line_size(text); !row.whole && !row.sound && line < text.size()) {
      text.remove_prefix(line);
      continue;
    }
    if (row.fields.empty() || (!row.whole && !rows.empty())) break;
    text.remove_prefix(row.end);
    if (row.sound) rows.push_back(std::move(row.fields));
  }
  return rows;
}

/// Whether text is a number or a date, which no name is.
bool is_value(const std::string& text) {
  return marks_of(text, sign_in(text)) != 0 || read_date(text, DateForm::kIso) ||
         read_date(text, DateForm::kDayFirst) || read_date(text, DateForm::kMonthFirst);
}

struct Cut {
  double alike = 0;        ///< share of rows with the number of fields that most rows have
  double values = 0;       ///< share of fields that are numbers or dates
  std::size_t fields = 0;  ///< of most rows
  auto operator<=>(const Cut&) const = default;
};

Cut cut_of(const Rows& rows) {
  std::map<std::size_t, std::size_t> seen;
  for (const auto& row : rows) ++seen[row.size()];
  Cut cut;
  for (const auto& [fields, times] : seen) {
    const double alike = static_cast<double>(times) / static_cast<double>(rows.size());
    if (alike > cut.alike) cut = {.alike = alike, .fields = fields};
  }
  std::size_t fields = 0, values = 0;
  for (const auto& row : rows) {
    fields += row.size();
    values += static_cast<std::size_t>(std::ranges::count_if(row, is_value));
  }
  cut.values = static_cast<double>(values) / static_cast<double>(std::max<std::size_t>(fields, 1));
  return cut;
}

char find_separator(std::string_view text) {
  constexpr double kAlike = 0.9;
  char best = kSeparators[0];
  Cut best_cut;
  for (const char separator : kSeparators) {
    const Cut cut = cut_of(first_rows(text, separator));
    if (cut.fields < 2 || cut.alike < kAlike) continue;
    if (cut > best_cut) {
      best = separator;
      best_cut = cut;
    }
  }
  return best;
}

bool find_header(const Rows& rows) {
  if (rows.empty()) return true;
  const std::vector<std::string>& first = rows[0];
  int above_values = 0, values = 0;  // columns of values: with text on top, with a value
  bool names = true;                 // all of the first row may be names
  std::set<std::string> different;
  const std::vector<std::string> missing = usual_missing_words();
  const auto is_missing = [&](const std::string& text) {
    return std::find(missing.begin(), missing.end(), text) != missing.end();
  };
  for (std::size_t i = 0; i < first.size(); ++i) {
    std::size_t filled = 0, valued = 0;
    bool stands_below = false;
    for (std::size_t r = 1; r < rows.size(); ++r) {
      if (i >= rows[r].size() || is_missing(rows[r][i])) continue;
      ++filled;
      valued += is_value(rows[r][i]);
      stands_below = stands_below || rows[r][i] == first[i];
    }
    if (filled > 0 && valued * 10 >= filled * 9 && !is_missing(first[i]))
      ++(is_value(first[i]) ? values : above_values);
    names = names && !is_value(first[i]) && !stands_below && !first[i].empty() && different.insert(first[i]).second;
  }
  if (above_values + values > 0) return above_values > values;
  return names;
}

}  // namespace

void check_separator(char separator) {
  if (separator != '"' && separator != '\n' && separator != '\r' && separator != '\0' &&
      static_cast<unsigned char>(separator) < 0x80)
    return;
  throw Error(ErrorKind::kUsage, fmt::format("separator: found {}, expected one character such as , ; | or a tab",
                                             separator_name(separator)));
}

std::string separator_name(char separator) {
  switch (separator) {
    case ',': return "a comma";
    case ';': return "a semicolon";
    case '\t': return "a tab";
    case '|': return "a bar";
    case ' ': return "a space";
    default: return fmt::format("'{}'", printable({&separator, 1}));
  }
}

Dialect detect_dialect(std::string_view beginning, const DialectWish& wish) {
  Dialect dialect;
  dialect.separator = wish.separator ? *wish.separator : find_separator(beginning);
  check_separator(dialect.separator);
  dialect.header = wish.header ? *wish.header : find_header(first_rows(beginning, dialect.separator));
  return dialect;
}

}  // namespace dptrain::table
