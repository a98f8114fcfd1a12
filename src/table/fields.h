#pragma once

// Fields: where the rows and fields of a block of text begin and end, by RFC 4180. Found mark by mark from the places
// that the kernel gives; a block whose rows are all alike and without quotes costs a look at each row's end. Owned and
// used by one thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu/csv.h"

namespace dptrain::table {

/// A row that cannot be read.
struct BadField {
  std::size_t row = 0;     ///< the row that begins here or would, among those kept
  std::uint64_t line = 0;  ///< of the problem's place, counted from the block's first,
  std::uint64_t byte = 0;  ///< and its byte in that line, from 0
  std::size_t begin = 0;   ///< where the bad row begins in the block's text
  int field = -1;          ///< or the row as a whole
  std::string words;       ///< found, expected, what to try
};

/// What the end of the text is.
enum class TextEnd {
  kMore,   ///< an accident: the row that has not ended, and a quote that has not, go on
  kLimit,  ///< the same, but no row may be longer: a quote that has not ended never will
  kFile,
};

/// A row and the line where it begins, counted from the block's first; the rows behind it begin in the lines behind it,
/// up to the next run.
struct LineRun {
  std::size_t row;
  std::uint64_t line;
};

class Fields {
 public:
  /// text[0, size) begins with a row; kTextPad bytes before and behind it can be read. Rows of another number of fields
  /// than `count` are bad. Returns how much has been taken: all
  /// whole rows, and at the end of a file all of it; but less behind a quote that does not end or, in text with quotes,
  /// behind many bad rows.
  std::size_t find(const char* text, std::size_t size, char separator, std::size_t count, TextEnd end);

  /// Instead: one bad row and nothing else.
  void refuse(std::string words);

  std::size_t rows() const { return begins_.size(); }
  std::size_t count() const { return count_; }
  /// A field with its quotes.
  std::string_view field(std::size_t row, std::size_t i) const {
    const std::uint32_t* const ends = ends_.get() + row * count_;
    const std::size_t begin = i == 0 ? begins_[row] : ends[i - 1] + 1;
    return {text_ + begin, ends[i] - begin};
  }
  std::size_t begin(std::size_t row) const { return begins_[row]; }
  kernels::cpu::CsvFields raw() const { return {text_, begins_.data(), ends_.get(), rows(), count_}; }

  const std::vector<BadField>& bad() const { return bad_; }
  const std::vector<LineRun>& lines() const { return runs_; }
  /// Of the text that was taken.
  std::uint64_t line_count() const { return line_; }
  std::uint64_t line_of(std::size_t row) const;
  /// Whether a byte of 0x80 or more is in the text.
  bool high() const { return high_; }

  /// The BadField of a field of a row that is in order but for what it holds.
  BadField bad_field(std::size_t row, std::size_t field, std::string words) const;

 private:
  class Walk;
  bool take_regular(const kernels::cpu::CsvMarks& marks, TextEnd end);
  void make_room(std::size_t size);

  const char* text_ = nullptr;
  std::size_t size_ = 0, count_ = 0, room_ = 0;
  std::unique_ptr<std::uint32_t[]> ends_;  // the marks at first
  std::unique_ptr<std::uint32_t[]> feeds_;
  std::vector<std::uint32_t> begins_;
  std::vector<LineRun> runs_;
  std::vector<BadField> bad_;
  std::uint64_t line_ = 0;
  bool high_ = false;
};

/// "found 'abc'", with what a terminal must not get written out and long text cut.
std::string found(std::string_view text);

/// Whether a byte ends a line (with '\r' before '\n', the first one does).
constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }

// One row, field by field and without hurry: for headers and for looking. Pure; any thread.

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
