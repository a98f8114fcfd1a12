#pragma once

// The terminal that shows stdout or stderr: its columns, and text that fits them. Files and pipes get text unchanged.
// Pure, except columns() and the functions that call it; any thread.
//
//   log::print(terminal::fitted(STDOUT_FILENO, table));

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dptrain::terminal {

inline constexpr std::size_t kUsualColumns = 80;

/// Columns of the terminal at this file descriptor. Nothing for a file, a pipe, and a terminal that reports none, such
/// as the one that mpirun gives to its processes.
std::optional<std::size_t> columns(int descriptor);
/// Whether it is a terminal that can move its cursor: TERM is set and not "dumb".
bool has_cursor(int descriptor);
/// Columns of UTF-8 text: 2 for a wide character, 0 for a combining mark and for "\033[...m".
std::size_t width(std::string_view text);
/// The beginning of a line, in at most `columns` columns.
std::string cut(std::string_view text, std::size_t columns);

/// Breaks long lines at blanks. A line continues below its last text column in the left half, or indented by two more
/// blanks. Long words break after '/', ',' or anywhere. A shell command (indented "dptrain ...") continues after a
/// backslash. Rules of dashes are cut. Without `columns` the text is unchanged.
std::string wrapped(std::string_view text, std::optional<std::size_t> columns);
/// As above with an indent: `begin` precedes the first line, `hang` blanks precede the others.
std::string wrapped(const std::string& begin, std::string_view text, std::size_t hang, std::size_t columns);
/// wrapped() at the terminal's columns; unchanged for a file or a pipe.
std::string fitted(int descriptor, std::string_view text);

/// Colours an error or a warning as rustc does: the severity, the underline below a source line, and the advice at the
/// end of a message ("; did you mean 'filters'?").
std::string colored(std::string_view text);

/// A table whose columns are as wide as their longest cell. Columns that do not fit continue below, after the first
/// column again.
class Table {
 public:
  enum class Align { kLeft, kRight };
  Table& column(std::string head, Align align = Align::kRight);
  Table& row(std::vector<std::string> cells);
  /// In at most `columns` columns; long rows of a block of two columns wrap. Without `columns`: one block.
  std::string text(std::optional<std::size_t> columns) const;

 private:
  struct Column {
    Align align;
    std::vector<std::string> cells;  ///< cells, beginning with the head
    std::size_t width() const;
  };
  static std::string block(const std::vector<const Column*>& shown, std::optional<std::size_t> columns);
  std::vector<Column> columns_;
};

}  // namespace dptrain::terminal
