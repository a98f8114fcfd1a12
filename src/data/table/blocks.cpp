#include "data/table/blocks.h"

#include <algorithm>
#include <cstring>

#include "core/format.h"
#include "core/text.h"
#include "data/table/fields.h"
#include "data/table/types.h"

namespace dptrain::data::table {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Offset after the last line end in text[0, size), or 0. Ignores '\r' as the last byte: '\n' may follow.
std::size_t last_line_end(const char* text, std::size_t size) {
  const auto behind = [text](const void* found) {
    return found == nullptr ? 0 : static_cast<std::size_t>(static_cast<const char*>(found) - text) + 1;
  };
  const std::size_t feed = behind(memrchr(text, '\n', size));
  if (size < feed + 2) return feed;
  return std::max(feed, behind(memrchr(text + feed, '\r', size - feed - 1)));
}

/// Offset after the first line end, or 0. `all`: the text ends with the file, so a last '\r' is a line end.
std::size_t first_line_end(const char* text, std::size_t size, bool all) {
  const auto* const end = std::find_if(text, text + size, ends_line);
  const auto at = static_cast<std::size_t>(end - text);
  if (at == size || (*end == '\r' && at + 1 == size && !all)) return 0;
  return at + (*end == '\r' && at + 1 < size && end[1] == '\n' ? 2 : 1);
}

}  // namespace

void PaddedText::grow(std::size_t capacity, std::size_t kept) {
  if (capacity <= capacity_) return;
  auto larger = std::make_unique_for_overwrite<char[]>(capacity + 2 * kernels::cpu::kTextPad);
  if (kept > 0) std::memcpy(larger.get() + kernels::cpu::kTextPad, data(), kept);
  std::memset(larger.get(), 0, kernels::cpu::kTextPad);
  storage_ = std::move(larger);
  capacity_ = capacity;
}

void Block::find(char separator, std::size_t count) {
  if (!found) fields.find(text.data(), size, separator, count, TextEnd::kFile);
  found = true;
}

Blocks::Blocks(std::unique_ptr<Bytes> bytes, Limits limits)
    : bytes_(std::move(bytes)), limits_{std::min(limits.block_bytes, limits.row_bytes), limits.row_bytes} {}

/// Appends up to `max_bytes` bytes to text[0, size) with one read; false at the end.
bool Blocks::refill(PaddedText& text, std::size_t& size, std::size_t max_bytes) {
  if (ended_) return false;
  text.grow(size + max_bytes, size);
  const std::size_t got = bytes_->read(text.data() + size, max_bytes);
  size += got;
  ended_ = got == 0;
  return !ended_;
}

void Blocks::start() {
  if (started_) return;
  started_ = true;
  while (rest_size_ < kByteOrderMark.size() && refill(rest_, rest_size_, limits_.block_bytes)) {
  }
  const std::string_view begin(rest_.data(), rest_size_);
  if (begin.starts_with("\xFF\xFE") || begin.starts_with("\xFE\xFF"))
    throw Error(ErrorKind::kData,
                fmt::format("{}:1:1: found text in UTF-16, expected UTF-8; `iconv -f UTF-16 -t UTF-8` rewrites it",
                            bytes_->name()));
  if (begin.starts_with(kByteOrderMark)) rest_begin_ = offset_ = kByteOrderMark.size();
}

std::string_view Blocks::beginning(std::size_t least) {
  start();
  while (rest_size_ - rest_begin_ < least && refill(rest_, rest_size_, std::max(limits_.block_bytes, rest_size_))) {
  }
  return {rest_.data() + rest_begin_, rest_size_ - rest_begin_};
}

std::vector<std::string> Blocks::take_header(char separator) {
  const std::string place = fmt::format("{}:1:1: ", bytes_->name());
  Row row;
  for (std::size_t least = 1;;) {
    const std::string_view text = beginning(least);
    row = take_row(text, separator, ended_);
    if (row.whole || ended_) break;
    if (text.size() >= limits_.row_bytes)
      throw Error(ErrorKind::kData, fmt::format("{}found a header of more than {}, expected names of columns", place,
                                                human_bytes(limits_.row_bytes)));
    least = text.size() + 1;
  }
  if (!row.sound)
    throw Error(ErrorKind::kData, place +
                                      "found a header with a double quote that is not closed or is inside a name, "
                                      "expected names of columns, each in quotes as a whole or without any");
  if (row.fields.empty()) throw Error(ErrorKind::kData, bytes_->name() + ": is empty, expected rows");
  check_column_count(row.fields.size(), place);
  rest_begin_ += row.end;
  offset_ += row.end;
  lines_taken_ = row.lines;
  return std::move(row.fields);
}

/// Appends up to `max_bytes` bytes to the block's text, from rest_ or by one read; false at the end.
bool Blocks::pull(Block& block, std::size_t max_bytes) {
  if (rest_begin_ == rest_size_) return refill(block.text, block.size, max_bytes);
  const std::size_t count = std::min(max_bytes, rest_size_ - rest_begin_);
  block.text.grow(block.size + count, block.size);
  std::memcpy(block.text.data() + block.size, rest_.data() + rest_begin_, count);
  block.size += count;
  rest_begin_ += count;
  return true;
}

/// Returns the text after the first `taken` bytes to rest_.
void Blocks::put_back(Block& block, std::size_t taken) {
  const std::size_t left = block.size - taken;
  block.size = taken;
  if (rest_begin_ < rest_size_ || left == 0) {
    rest_begin_ -= left;  // the block was copied from rest_
    return;
  }
  rest_.grow(left, 0);
  std::memcpy(rest_.data(), block.text.data() + taken, left);
  rest_begin_ = 0;
  rest_size_ = left;
}

/// Drops the remainder of a line that was too long; false if the file ends in it.
bool Blocks::drop_line(Block& block) {
  while (dropping_) {
    if (!pull(block, limits_.block_bytes) && block.size == 0) return false;
    const std::size_t end = first_line_end(block.text.data(), block.size, at_end());
    const std::size_t gone =
        end > 0 ? end : block.size - (at_end() ? 0 : 1);  // the last byte may be the '\r' of "\r\n"
    dropping_ = end == 0;
    offset_ += gone;
    block.size -= gone;
    std::memmove(block.text.data(), block.text.data() + gone, block.size);
    if (dropping_ && at_end()) return false;
  }
  return true;
}

bool Blocks::next(Block& block, char separator, std::size_t count) {
  start();
  block.found = false;
  block.size = 0;
  if (!drop_line(block)) return false;
  if (rest_begin_ < rest_size_) pull(block, limits_.block_bytes);
  // Do not block on a pipe while text is available.
  bool more = block.size < limits_.block_bytes && (!bytes_->may_wait() || block.size == 0);
  for (;; more = true) {
    if (more && block.size < limits_.row_bytes)
      pull(block, std::min(std::max(limits_.block_bytes, block.size), limits_.row_bytes - block.size));
    if (block.size == 0) return false;
    const std::size_t taken = cut(block, separator, count);
    if (taken == 0) continue;
    put_back(block, taken);
    block.offset = offset_;
    offset_ += taken;
    return true;
  }
}

/// Size of the whole rows in the block; 0: read more. A row beyond the limit becomes a bad row and dropping_ is set.
std::size_t Blocks::cut(Block& block, char separator, std::size_t count) {
  const char* const text = block.text.data();
  const bool quotes = kernels::cpu::has_byte(text, block.size, '"');
  if (!quotes && at_end()) return block.size;
  const TextEnd end = at_end() ? TextEnd::kFile : TextEnd::kMore;
  // A block that grew for one long row ends after that row.
  const bool grown = block.size > 2 * limits_.block_bytes;
  std::size_t taken = quotes  ? block.fields.find(text, block.size, separator, count, end)
                      : grown ? first_line_end(text, block.size, false)
                              : last_line_end(text, block.size);
  block.found = quotes && taken > 0;
  if (taken > 0 || block.size < limits_.row_bytes) return taken;
  if (quotes) taken = block.fields.find(text, block.size, separator, count, TextEnd::kLimit);
  if (taken == 0) {
    block.fields.refuse(
        fmt::format("found a row of more than {}, expected a shorter one; is it a file of rows, and the separator "
                    "{}?",
                    human_bytes(limits_.row_bytes), separator_name(separator)));
    taken = block.size - (text[block.size - 1] == '\r' ? 1 : 0);
  }
  dropping_ = !ends_line(text[taken - 1]);
  block.found = true;
  return taken;
}

void check_column_count(std::size_t count, const std::string& place) {
  if (count > kMaxColumns)
    throw Error(ErrorKind::kData, fmt::format("{}found {} columns, expected at most {}; is the separator right?", place,
                                              with_commas(static_cast<std::int64_t>(count)),
                                              with_commas(static_cast<std::int64_t>(kMaxColumns))));
}

}  // namespace dptrain::data::table
