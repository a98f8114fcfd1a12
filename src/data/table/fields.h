#pragma once

// Fields: the positions of rows and fields in a block of text, by RFC 4180. Found mark by mark from the positions that
// the kernel returns; in a block of equal rows without quotes only each row's end is checked. Owned and used by one
// thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu/csv.h"

namespace dptrain::data::table {

/// A row that cannot be read.
struct BadField {
  std::size_t row = 0;     ///< the row that begins here or would, among those kept
  std::uint64_t line = 0;  ///< of the problem's place, counted from the block's first,
  std::uint64_t byte = 0;  ///< and its byte in that line, from 0
  std::size_t begin = 0;   ///< where the bad row begins in the block's text
  int field = -1;          ///< or the row as a whole
  std::string words;       ///< found, expected, what to try
};

/// Meaning of the end of the text.
enum class TextEnd {
  kMore,   ///< arbitrary: a row or a quote that has not ended continues
  kLimit,  ///< as kMore, but no row may be longer: an open quote never ends
  kFile,
};

/// A row and the line where it begins, counted from the block's first. Each later row begins one line further, up to
/// the next run.
struct LineRun {
  std::size_t row;
  std::uint64_t line;
};

class Fields {
 public:
  /// text[0, size) begins with a row; kTextPad bytes before and after it must be readable. Rows with another number of
  /// fields than `count` are bad. Returns the bytes taken: all whole rows, or everything at the end of a file. Takes
  /// less after a quote that does not end or, in text with quotes, after many bad rows.
  std::size_t find(const char* text, std::size_t size, char separator, std::size_t count, TextEnd end);

  /// In place of find(): one bad row and nothing else.
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
  /// Lines of the text that was taken.
  std::uint64_t line_count() const { return line_; }
  std::uint64_t line_of(std::size_t row) const;
  /// Whether the text has a byte of 0x80 or more.
  bool high() const { return high_; }

  /// A BadField for one field of a row that is valid except for its contents.
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

/// "found 'abc'", with control characters escaped and long text cut.
std::string found(std::string_view text);

/// Whether a byte ends a line (with '\r' before '\n', the first one does).
constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }

// One row, field by field: for headers and samples, where speed does not matter. Pure; any thread.

/// A file with more columns is not a table.
inline constexpr std::size_t kMostColumns = 1'000'000;

struct Row {
  std::vector<std::string> fields;  ///< without quotes and, outside of quotes, without spaces around
  std::vector<bool> quoted;
  std::size_t end = 0;    ///< bytes taken, with the line's end
  std::size_t lines = 0;  ///< line ends in these bytes
  bool whole = false;     ///< false: the text ends within the row
  bool sound = true;      ///< false: it breaks RFC 4180
};

/// The row at the beginning of `text`; with `all` the text's end is the file's. Also takes empty lines before it.
/// Without a row: whole, and no fields. Returns at most kMostColumns + 1 fields.
Row take_row(std::string_view text, char separator, bool all);

/// Bytes of the first line, with its end.
std::size_t line_size(std::string_view text);

/// Appends a field without its quotes, with one quote for each pair within.
void append_unquoted(std::string_view field, std::string& out);
/// Without spaces and tabs at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace dptrain::data::table
