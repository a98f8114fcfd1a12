#pragma once

// How a file of rows is written: what stands between its fields, and whether its first row has names. Pure; any thread.
// The rest is RFC 4180 in every file: a field may stand in double quotes, within which "" is one quote and separators
// and line breaks are text; lines end with LF, CRLF or CR, mixed as they come; a byte-order mark of UTF-8 is passed
// over, empty lines are no rows, and the last line may lack its end.

#include <optional>
#include <string>
#include <string_view>

namespace dptrain::table {

struct Dialect {
  char separator = ',';
  bool header = true;  ///< the first row of each file is the columns' names
  bool operator==(const Dialect&) const = default;
};

/// What somebody has said of it; the rest is looked up.
struct DialectWish {
  std::optional<char> separator{};
  std::optional<bool> header{};
  std::optional<char> decimal{};    ///< of all numbers: '.' or ','
  std::optional<char> thousands{};  ///< as NumberFormat has it
};

/// The separator among , ; tab and | that cuts the rows of `beginning` (of a file, whole rows but perhaps the last)
/// into the same number of fields; of several the one with the most numbers among its fields, then the most fields; a
/// comma where none does. The first row is a header
/// where it is text above a column of numbers or dates, or, without such columns, words that are all different and
/// stand nowhere below.
Dialect detect_dialect(std::string_view beginning, const DialectWish& wish);

/// Throws Error{kUsage} for what cannot stand between fields: a quote, the end of a line, a byte of no ASCII character.
void check_separator(char separator);
/// "a comma", "a tab", "'x'".
std::string separator_name(char separator);

}  // namespace dptrain::table
