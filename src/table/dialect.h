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

/// The parts of the dialect that the config sets; the others are detected.
struct DialectWish {
  std::optional<char> separator{};
  std::optional<bool> header{};
  std::optional<char> decimal{};    ///< decimal mark of all numbers, '.' or ','
  std::optional<char> thousands{};  ///< as NumberFormat::thousands
};

/// Detects the separator, among , ; tab and |, that divides the rows of `beginning` (the beginning of a file) into the
/// same number of fields. If several do, the one with the most numbers among its fields wins, then the one with the
/// most fields; if none does, the comma. The first row is a header if it is text above a column of numbers or dates,
/// or, without such columns, if its words all differ and occur in no other row.
Dialect detect_dialect(std::string_view beginning, const DialectWish& wish);

/// Throws Error{kUsage} for a quote, the end of a line, or a byte that is not ASCII.
void check_separator(char separator);
/// "a comma", "a tab", "'x'".
std::string separator_name(char separator);

}  // namespace dptrain::table
