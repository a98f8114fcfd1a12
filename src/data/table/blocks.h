#pragma once

// Blocks: files cut into pieces of whole rows, in order. next() is called by one thread at a time; a block belongs to
// whoever took it. Without quotes in it a block is cut at a line's end, and its fields are found by whoever has it;
// with quotes only the fields say where a row ends, so they are found here.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/table/bytes.h"
#include "data/table/fields.h"

namespace dptrain::data::table {

/// Text with kTextPad bytes before and behind.
class PaddedText {
 public:
  char* data() { return storage_.get() + kernels::cpu::kTextPad; }
  const char* data() const { return storage_.get() + kernels::cpu::kTextPad; }
  std::size_t room() const { return room_; }
  /// Keeps the first `kept` bytes.
  void grow(std::size_t room, std::size_t kept);

 private:
  std::unique_ptr<char[]> storage_;
  std::size_t room_ = 0;
};

struct Block {
  PaddedText text;
  std::size_t size = 0;
  std::uint64_t offset = 0;  ///< of the text in the file, unpacked
  bool found = false;        ///< the fields are
  Fields fields;

  /// Finds the fields, unless that is done.
  void find(char separator, std::size_t count);
};

class Blocks {
 public:
  struct Limits {
    std::size_t block_bytes, row_bytes;
  };
  Blocks(std::unique_ptr<Bytes> bytes, Limits limits);

  const Bytes& bytes() const { return *bytes_; }
  /// What has been read and not given, made `least` bytes where there are so many; it stays. At first that is the
  /// beginning, without a byte-order mark. Throws Error{kData} for text in UTF-16.
  std::string_view beginning(std::size_t least);
  /// Whether all has been read.
  bool ended() const { return ended_; }
  /// The header. Before next() alone. Throws Error{kData} where there is none, or a limit is exceeded.
  std::vector<std::string> take_header(char separator);
  /// Lines that the header took, and what was before it.
  std::uint64_t lines_taken() const { return lines_taken_; }
  /// The next rows; false at the end.
  bool next(Block& block, char separator, std::size_t count);

 private:
  bool refill(PaddedText& text, std::size_t& size, std::size_t wanted);
  void start();
  bool pull(Block& block, std::size_t wanted);
  void put_back(Block& block, std::size_t taken);
  bool at_end() const { return ended_ && rest_begin_ == rest_size_; }
  bool drop_line(Block& block);
  std::size_t cut(Block& block, char separator, std::size_t count);

  std::unique_ptr<Bytes> bytes_;
  const Limits limits_;
  PaddedText rest_;  // that next() has read and not given
  std::size_t rest_begin_ = 0, rest_size_ = 0;
  std::uint64_t offset_ = 0;  // of the rest
  std::uint64_t lines_taken_ = 0;
  bool started_ = false, ended_ = false, dropping_ = false;
};

/// Throws Error{kData} for more columns than anybody has.
void refuse_columns(std::size_t count, const std::string& place);

}  // namespace dptrain::data::table
