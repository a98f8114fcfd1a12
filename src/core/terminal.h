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
/// A terminal that moves its cursor: TERM is set and not "dumb".
bool has_cursor(int descriptor);
/// Columns that UTF-8 text takes: 2 for a wide character, 0 for a combining mark and for "\033[...m".
std::size_t width(std::string_view text);
/// The beginning of a line, in at most so many columns.
std::string cut(std::string_view text, std::size_t columns);

/// Breaks each longer line at blanks. It continues under its last column of text that begins in the left half, else two
/// blanks further right than it begins. A word longer than a line breaks after '/', ',' or anywhere. A shell command
/// (indented text that begins with "dptrain ") continues after a backslash.
/// A line of dashes is cut. Without `columns` the text is unchanged.
std::string wrapped(std::string_view text, std::optional<std::size_t> columns);
/// As above with an indent: `begin` precedes the first line, `hang` blanks precede the others.
std::string wrapped(const std::string& begin, std::string_view text, std::size_t hang, std::size_t columns);
/// wrapped() at the terminal's columns; unchanged for a file or a pipe.
std::string fitted(int descriptor, std::string_view text);

/// Colours an error or a warning as rustc does: the severity, the underline below a source line, and the advice at the
/// end of a message ("; did you mean 'filters'?").
std::string colored(std::string_view text);

/// A table whose columns are as wide as their longest cell. Where they do not fit, the table continues below with the
/// columns that are left, after the first one again.
class Table {
 public:
  enum class Align { kLeft, kRight };
  Table& column(std::string head, Align align = Align::kRight);
  Table& row(std::vector<std::string> cells);
  /// In at most so many columns: a row that is longer in a block of two columns wraps. Nothing: one block.
  std::string text(std::optional<std::size_t> columns) const;

 private:
  struct Column {
    Align align;
    std::vector<std::string> cells;  ///< the head first
    std::size_t width() const;
  };
  static std::string block(const std::vector<const Column*>& shown, std::optional<std::size_t> columns);
  std::vector<Column> columns_;
};

}  // namespace dptrain::terminal
