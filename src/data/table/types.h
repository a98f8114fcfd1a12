#pragma once

// Types of fields: numbers and their formats, and the dialect of a file. Pure; any thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace dptrain::data::table {

enum class NumberFault { kNone, kNoNumber, kOutOfRange };

/// How the numbers of a column are written.
struct NumberFormat {
  char decimal = '.';     ///< or ','
  char thousands = '\0';  ///< between groups of three digits: , . ' or a space, which no-break spaces equal; '\0': none
  std::string sign{};     ///< a currency or percent sign before or after every number

  bool operator==(const NumberFormat&) const = default;
};

/// All formats without a sign, the simplest ones first.
inline constexpr std::array<std::pair<char, char>, 8> kNumberMarks{
    {{'.', '\0'}, {',', '\0'}, {'.', ','}, {',', '.'}, {'.', ' '}, {',', ' '}, {'.', '\''}, {',', '\''}}};
/// A bit for each of kNumberMarks.
using NumberMarks = std::uint32_t;
inline constexpr NumberMarks kAllMarks = (1U << kNumberMarks.size()) - 1;
/// The formats with a decimal point.
inline constexpr NumberMarks kPointMarks = [] {
  NumberMarks marks = 0;
  for (std::size_t i = 0; i < kNumberMarks.size(); ++i) marks |= (kNumberMarks[i].first == '.' ? 1U : 0U) << i;
  return marks;
}();
/// The decimal mark and the thousands separator of the i-th of kNumberMarks, with a sign.
NumberFormat number_format(std::size_t i, std::string sign);

/// The currency or percent sign that text begins (after + or -) or ends with, or "".
std::string_view sign_in(std::string_view text);
/// The formats in which text with this sign is a number.
NumberMarks marks_of(std::string_view text, std::string_view sign);

/// Reads a decimal number such as 12, -0.5, +.5, 5. or 1e-3 as the nearest float. Numbers below the range are zero.
NumberFault read_number(std::string_view text, float& out);
/// As a double.
NumberFault read_number(std::string_view text, double& out);
/// Reads a number in a column's format.
NumberFault read_number(std::string_view text, const NumberFormat& format, float& out);
NumberFault read_number(std::string_view text, const NumberFormat& format, double& out);

/// "found 'abc', expected a number; ...".
std::string number_words(std::string_view text, NumberFault fault, const NumberFormat& format, std::string_view column);
/// The end of a message: the keys for a column of words.
std::string words_hint(std::string_view text, std::string_view column);

// The dialect of a file of rows: the separator of its fields, and whether its first row has names. The rest is RFC 4180
// in every file. A field may be in double quotes, within which "" is one quote, and separators and line breaks are
// text. Lines end with LF, CRLF or CR, in any mixture. A UTF-8 byte-order mark and empty lines are skipped, and the
// last line may lack its end.

struct Dialect {
  char separator = ',';
  bool header = true;  ///< the first row of each file is the columns' names
  bool operator==(const Dialect&) const = default;
};

/// The parts of the dialect that the config sets; the others are detected.
struct DialectHints {
  std::optional<char> separator{};
  std::optional<bool> header{};
  std::optional<char> decimal{};    ///< decimal mark of all numbers, '.' or ','
  std::optional<char> thousands{};  ///< as NumberFormat::thousands
};

/// Detects the separator, among , ; tab and |, that divides the rows of `beginning` (the beginning of a file) into the
/// same number of fields. If several do, the one with the most numbers among its fields wins, then the one with the
/// most fields; if none does, the comma. The first row is a header if it is text above a column of numbers or dates.
/// Without such columns it is a header if its words all differ and occur in no other row.
Dialect detect_dialect(std::string_view beginning, const DialectHints& hints);

/// Throws Error{kUsage} for a quote, the end of a line, or a byte that is not ASCII.
void check_separator(char separator);
/// "a comma", "a tab", "'x'".
std::string separator_name(char separator);

}  // namespace dptrain::data::table
