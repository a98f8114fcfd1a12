#pragma once

// One row, field by field and without hurry: for headers and for looking. Pure; any thread.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dptrain::table {

/// More than anybody has: where a file seems to have them, it is something else.
inline constexpr std::size_t kMostColumns = 1'000'000;

struct Row {
  std::vector<std::string> fields;  ///< without quotes and, outside of quotes, without spaces around
  std::vector<bool> quoted;
  std::size_t end = 0;    ///< of the text that it takes, with its line's end
  std::size_t lines = 0;  ///< line ends in that text
  bool whole = false;     ///< false: the text ends first
  bool sound = true;      ///< false: it breaks RFC 4180
};

/// The row that begins `text`; with `all` the text's end is the file's. Empty lines before it are taken, too. Without
/// any row: whole, and no fields. Fields beyond kMostColumns and one more are left.
Row take_row(std::string_view text, char separator, bool all);

/// Bytes of the first line, with its end.
std::size_t line_size(std::string_view text);

/// A field without its quotes, and one for each pair within.
void append_unquoted(std::string_view field, std::string& out);
/// Without spaces and tabs at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace dptrain::table
