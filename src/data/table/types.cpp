#include "data/table/types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include <fast_float/fast_float.h>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/table/date.h"
#include "data/table/fields.h"

namespace dptrain::data::table {
namespace {

constexpr std::array<std::string_view, 6> kSigns{"$", "%", "€", "£", "¥", "₹"};
/// A space, and the no-break spaces U+00A0 and U+202F.
constexpr std::array<std::string_view, 3> kSpaces{" ", "\xC2\xA0", "\xE2\x80\xAF"};

constexpr std::size_t kPointGroups = 3;  // index in kNumberMarks: 1.234,5

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <class T>
NumberFault read_decimal(std::string_view text, T& out) {
  const bool has_sign = text.starts_with('+') || text.starts_with('-');
  const char first = text.size() > (has_sign ? 1U : 0U) ? text[has_sign ? 1 : 0] : '\0';
  // The library accepts words for infinity and NaN, but no plus.
  if (!is_digit(first) && first != '.') return NumberFault::kNoNumber;
  if (text.front() == '+') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto result = fast_float::from_chars(text.data(), end, out);
  if (result.ptr != end || result.ec == std::errc::invalid_argument) return NumberFault::kNoNumber;
  return std::isfinite(out) ? NumberFault::kNone : NumberFault::kOutOfRange;
}

/// Moves a + or - from the beginning of `text` to `out`.
void take_plus_or_minus(std::string_view& text, std::string& out) {
  if (!out.empty() || text.empty() || (text.front() != '+' && text.front() != '-')) return;
  out += text.front();
  text.remove_prefix(1);
}

std::size_t space_length(std::string_view text) {
  for (const std::string_view space : kSpaces)
    if (text.starts_with(space)) return space.size();
  return 0;
}

/// Removes the currency or percent sign, with spaces between it and the number. False: there is none.
bool drop_sign(std::string_view& text, std::string_view sign) {
  if (text.starts_with(sign)) {
    text.remove_prefix(sign.size());
    while (const std::size_t space = space_length(text)) text.remove_prefix(space);
    return true;
  }
  if (!text.ends_with(sign)) return false;
  text.remove_suffix(sign.size());
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view space : kSpaces)
      if (text.ends_with(space)) text.remove_suffix(space.size()), more = true;
  }
  return true;
}

/// Converts text to the notation of read_decimal(). False if the groups of digits are invalid.
bool to_plain(std::string_view text, const NumberFormat& format, std::string& out) {
  out.clear();
  take_plus_or_minus(text, out);
  if (!format.sign.empty()) {
    if (!drop_sign(text, format.sign)) return false;
    take_plus_or_minus(text, out);
  }
  const bool leading_zero = text.starts_with('0');
  std::size_t digits = 0;  // in this group
  bool grouped = false;
  while (!text.empty()) {
    const char c = text.front();
    std::size_t mark = format.thousands == '\0'  ? 0
                       : format.thousands == ' ' ? space_length(text)
                                                 : c == format.thousands;
    if (is_digit(c)) {
      out += c;
      ++digits;
      mark = 1;
    } else if (mark > 0) {
      if (grouped ? digits != 3 : digits < 1 || digits > 3 || leading_zero) return false;
      grouped = true;
      digits = 0;
    } else {
      break;
    }
    text.remove_prefix(mark);
  }
  if (grouped && digits != 3) return false;
  if (text.starts_with(format.decimal)) {
    out += '.';
    text.remove_prefix(1);
  } else if (text.starts_with('.') || (grouped && !text.empty())) {
    return false;
  }
  out += text;
  return true;
}

template <class T>
NumberFault read_formatted(std::string_view text, const NumberFormat& format, T& out) {
  if (format == NumberFormat{}) return read_decimal(text, out);
  std::string plain;
  return to_plain(text, format, plain) ? read_decimal(plain, out) : NumberFault::kNoNumber;
}

/// "`decimal: \",\"`", "`thousands: \" \"`": the keys of other formats in which text is a number, or "".
std::string other_format(std::string_view text, const NumberFormat& format) {
  const NumberMarks marks = marks_of(text, format.sign);
  if (marks == 0) return "";
  const auto [decimal, thousands] = kNumberMarks[static_cast<std::size_t>(std::countr_zero(marks))];
  std::vector<std::string> keys;
  if (decimal != format.decimal) keys.push_back(fmt::format("`decimal: \"{}\"`", decimal));
  if (thousands != '\0' && thousands != format.thousands) keys.push_back(fmt::format("`thousands: \"{}\"`", thousands));
  return join(keys, " and ");
}

}  // namespace

NumberFormat number_format(std::size_t i, std::string sign) {
  return {.decimal = kNumberMarks[i].first, .thousands = kNumberMarks[i].second, .sign = std::move(sign)};
}

std::string_view sign_in(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (!text.empty() && is_digit(text.front()) && is_digit(text.back())) return "";
  for (const std::string_view sign : kSigns)
    if (text.starts_with(sign) || text.ends_with(sign)) return sign;
  return "";
}

NumberMarks marks_of(std::string_view text, std::string_view sign) {
  double ignored = 0;
  const auto fits = [&](std::size_t i) {
    return read_number(text, number_format(i, std::string(sign)), ignored) != NumberFault::kNoNumber;
  };
  // The usual case, for speed: digits and perhaps a point.
  const auto is_usual = [](char c) { return is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'; };
  if (sign.empty() && std::ranges::all_of(text, is_usual)) {
    const bool plain = read_decimal(text, ignored) != NumberFault::kNoNumber;
    const std::size_t point = text.rfind('.');
    if (point == std::string_view::npos) return plain ? kAllMarks : 0;
    const bool may_group = text.size() - point == 4;
    return (plain ? kPointMarks : 0) | (may_group && fits(kPointGroups) ? 1U << kPointGroups : 0);
  }
  NumberMarks marks = 0;
  for (std::size_t i = 0; i < kNumberMarks.size(); ++i)
    if (fits(i)) marks |= 1U << i;
  return marks;
}

NumberFault read_number(std::string_view text, float& out) { return read_decimal(text, out); }
NumberFault read_number(std::string_view text, double& out) { return read_decimal(text, out); }
NumberFault read_number(std::string_view text, const NumberFormat& format, float& out) {
  return read_formatted(text, format, out);
}
NumberFault read_number(std::string_view text, const NumberFormat& format, double& out) {
  return read_formatted(text, format, out);
}

std::string words_hint(std::string_view text, std::string_view column) {
  return fmt::format("; try `missing_values: [{}]`, or `columns: {{{}: StringLookup}}` for a column of words",
                     printable(text.substr(0, 40)), printable(column));
}

std::string number_words(std::string_view text, NumberFault fault, const NumberFormat& format,
                         std::string_view column) {
  const std::string what = found(text);
  if (fault == NumberFault::kOutOfRange) return what + ", expected a number within the range of floats, 3.4e38";
  if (const std::string other = other_format(text, format); !other.empty())
    return fmt::format("{}, expected a number with a decimal {}; try {}", what,
                       format.decimal == '.' ? "point" : "comma", other);
  double ignored = 0;
  if (!format.sign.empty() && read_number(text, format, ignored) == NumberFault::kNoNumber && marks_of(text, "") != 0)
    return fmt::format("{}, expected a number with the sign {}, as in the other rows; write it in all rows or in none",
                       what, format.sign);
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (small.find("inf") != std::string::npos)
    return fmt::format("{}, expected a finite number; try `missing_values: [{}]`", what, printable(text));
  if (small.starts_with("0x")) return what + ", expected a decimal number";
  return what + ", expected a number" + words_hint(text, column);
}

namespace {

constexpr std::size_t kMaxRows = 200;
constexpr std::array kSeparators{',', ';', '\t', '|'};

using Rows = std::vector<std::vector<std::string>>;

/// The first rows; the last row of the text only if it is the only one. Skips a line whose quote does not end.
Rows first_rows(std::string_view text, char separator) {
  Rows rows;
  while (!text.empty() && rows.size() < kMaxRows) {
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

/// Whether text is a number or a date, and so not a name.
bool is_value(const std::string& text) {
  return marks_of(text, sign_in(text)) != 0 || read_date(text, DateForm::kIso) ||
         read_date(text, DateForm::kDayFirst) || read_date(text, DateForm::kMonthFirst);
}

struct Cut {
  double alike = 0;        ///< share of rows with the number of fields that most rows have
  double values = 0;       ///< share of fields that are numbers or dates
  std::size_t fields = 0;  ///< number of fields of most rows
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
  int above_values = 0, values = 0;  // columns of values: with text in the first row, with a value there
  bool names = true;                 // all fields of the first row may be names
  std::set<std::string> different;
  const std::vector<std::string> missing = default_missing_words();
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

Dialect detect_dialect(std::string_view beginning, const DialectHints& hints) {
  Dialect dialect;
  dialect.separator = hints.separator ? *hints.separator : find_separator(beginning);
  check_separator(dialect.separator);
  dialect.header = hints.header ? *hints.header : find_header(first_rows(beginning, dialect.separator));
  return dialect;
}

}  // namespace dptrain::data::table
