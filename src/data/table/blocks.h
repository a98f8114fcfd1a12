#pragma once

// Blocks cuts a file into pieces of whole rows, in order. One thread at a time calls next(); the caller owns the block.
// A block without quotes is cut at a line end, and its owner calls Block::find(). With quotes only the fields determine
// row ends, so next() finds them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/table/bytes.h"
#include "data/table/fields.h"

namespace dptrain::data::table {

/// Text with kTextPad readable bytes before and after it.
class PaddedText {
 public:
  char* data() { return storage_.get() + kernels::cpu::kTextPad; }
  const char* data() const { return storage_.get() + kernels::cpu::kTextPad; }
  std::size_t capacity() const { return capacity_; }
  /// Grows to `capacity` bytes and preserves the first `kept`.
  void grow(std::size_t capacity, std::size_t kept);

 private:
  std::unique_ptr<char[]> storage_;
  std::size_t capacity_ = 0;
};

struct Block {
  PaddedText text;
  std::size_t size = 0;
  std::uint64_t offset = 0;  ///< offset of the text in the unpacked file
  bool found = false;        ///< whether `fields` is set
  Fields fields;

  /// Finds the fields unless they are found already.
  void find(char separator, std::size_t count);
};

class Blocks {
 public:
  struct Limits {
    std::size_t block_bytes, row_bytes;
  };
  Blocks(std::unique_ptr<Bytes> bytes, Limits limits);

  const Bytes& bytes() const { return *bytes_; }
  /// Returns the text that next() will return first, at least `least` bytes if the file has them, without consuming it
  /// and without a byte-order mark. Throws Error{kData} for text in UTF-16.
  std::string_view beginning(std::size_t least);
  /// Whether the whole file has been read.
  bool ended() const { return ended_; }
  /// Returns the header. Call before next(). Throws Error{kData} if there is none or it exceeds a limit.
  std::vector<std::string> take_header(char separator);
  /// Lines up to the end of the header.
  std::uint64_t lines_taken() const { return lines_taken_; }
  /// The next rows; false at the end.
  bool next(Block& block, char separator, std::size_t count);

 private:
  bool refill(PaddedText& text, std::size_t& size, std::size_t max_bytes);
  void start();
  bool pull(Block& block, std::size_t max_bytes);
  void put_back(Block& block, std::size_t taken);
  bool at_end() const { return ended_ && rest_begin_ == rest_size_; }
  bool drop_line(Block& block);
  std::size_t cut(Block& block, char separator, std::size_t count);

  std::unique_ptr<Bytes> bytes_;
  const Limits limits_;
  PaddedText rest_;  // read, but not returned by next() yet
  std::size_t rest_begin_ = 0, rest_size_ = 0;
  std::uint64_t offset_ = 0;  // offset of rest_ in the unpacked file
  std::uint64_t lines_taken_ = 0;
  bool started_ = false, ended_ = false, dropping_ = false;
};

/// Throws Error{kData} for more than kMaxColumns columns.
void check_column_count(std::size_t count, const std::string& place);

}  // namespace dptrain::data::table
