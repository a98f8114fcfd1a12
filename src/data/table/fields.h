#pragma once

// Fields: positions of rows and fields in a block of text, by RFC 4180. Owned and used by one thread. The kernel
// returns the positions of marks (separators, quotes, line ends); a block of equal rows without quotes skips the walk
// over them.

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
  std::size_t row = 0;     ///< number of rows of Fields before this row
  std::uint64_t line = 0;  ///< line of the error, counted from the block's first
  std::uint64_t byte = 0;  ///< byte in that line, from 0
  std::size_t begin = 0;   ///< offset of the bad row in the block's text
  int field = -1;          ///< -1: the whole row
  std::string reason;      ///< found, expected, advice
};

/// Meaning of the end of the text.
enum class TextEnd {
  kMore,   ///< more text follows: an open row or quote may continue
  kLimit,  ///< as kMore, but no row may be longer: an open quote never ends
  kFile,   ///< end of the file
};

/// A row and the line where it begins, counted from the block's first. Each later row is one line further, until the
/// next run.
struct LineRun {
  std::size_t row;
  std::uint64_t line;
};

class Fields {
 public:
  /// Finds rows of `count` fields in text[0, size), which begins with a row and has kTextPad readable bytes before and
  /// after it. Other rows are bad. Returns the bytes consumed: all whole rows, or all text at the end of a file; fewer
  /// after a quote that does not end or, in text with quotes, after many bad rows.
  std::size_t find(const char* text, std::size_t size, char separator, std::size_t count, TextEnd end);

  /// Sets one bad row and no others, instead of find().
  void refuse(std::string words);

  std::size_t rows() const { return begins_.size(); }
  std::size_t count() const { return count_; }
  /// The field including its quotes.
  std::string_view field(std::size_t row, std::size_t i) const {
    const std::uint32_t* const ends = ends_.get() + row * count_;
    const std::size_t begin = i == 0 ? begins_[row] : ends[i - 1] + 1;
    return {text_ + begin, ends[i] - begin};
  }
  std::size_t begin(std::size_t row) const { return begins_[row]; }
  kernels::cpu::CsvFields raw() const { return {text_, begins_.data(), ends_.get(), rows(), count_}; }

  const std::vector<BadField>& bad() const { return bad_; }
  const std::vector<LineRun>& lines() const { return runs_; }
  /// Number of lines in the consumed text.
  std::uint64_t line_count() const { return line_; }
  std::uint64_t line_of(std::size_t row) const;
  /// Whether the text has a byte of 0x80 or more.
  bool high() const { return high_; }

  /// A BadField for a field of a well-formed row with invalid contents.
  BadField bad_field(std::size_t row, std::size_t field, std::string words) const;

 private:
  class Walk;
  bool take_regular(const kernels::cpu::CsvMarks& marks, TextEnd end);
  void reserve(std::size_t size);

  const char* text_ = nullptr;
  std::size_t size_ = 0, count_ = 0, capacity_ = 0;
  std::unique_ptr<std::uint32_t[]> ends_;  // first the marks, overwritten by the ends of fields
  std::unique_ptr<std::uint32_t[]> feeds_;
  std::vector<std::uint32_t> begins_;
  std::vector<LineRun> runs_;
  std::vector<BadField> bad_;
  std::uint64_t line_ = 0;
  bool high_ = false;
};

/// "found 'abc'", with control characters escaped and long text cut.
std::string found(std::string_view text);

/// Whether a byte ends a line. "\r\n" is one line end.
constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }

/// A file with more columns is not a table.
inline constexpr std::size_t kMaxColumns = 1'000'000;

struct Row {
  std::vector<std::string> fields;  ///< without quotes; unquoted fields without spaces around
  std::vector<bool> quoted;
  std::size_t end = 0;    ///< bytes consumed, with the line end
  std::size_t lines = 0;  ///< line ends in these bytes
  bool whole = false;     ///< false: the text ends within the row
  bool sound = true;      ///< false: violates RFC 4180
};

/// Parses the row at the beginning of `text`, for headers and samples, where speed does not matter. `all`: `text` ends
/// with the file. Skips empty lines. Returns a whole Row without fields if there is none, and at most kMaxColumns + 1
/// fields. Pure; any thread.
Row take_row(std::string_view text, char separator, bool all);

/// Size of the first line with its end.
std::size_t line_size(std::string_view text);

/// Appends a field without its quotes; a pair of quotes within becomes one.
void append_unquoted(std::string_view field, std::string& out);
/// The text without spaces and tabs at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace dptrain::data::table
