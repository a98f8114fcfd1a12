#include "table/blocks.h"

#include <algorithm>
#include <cstring>

#include "core/format.h"
#include "core/text.h"
#include "table/dialect.h"
#include "table/row.h"

namespace dptrain::table {
namespace {

constexpr std::size_t kMostColumns = 1'000'000;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Behind the last line end in text[0, size), or 0. A return at the very end may be half of one.
std::size_t last_line_end(const char* text, std::size_t size) {
  const auto behind = [text](const void* found) {
    return found == nullptr ? 0 : static_cast<std::size_t>(static_cast<const char*>(found) - text) + 1;
  };
  const std::size_t feed = behind(memrchr(text, '\n', size));
  if (size < feed + 2) return feed;
  return std::max(feed, behind(memrchr(text + feed, '\r', size - feed - 1)));
}

/// Behind the first line end, or 0 where `all` of it is not there.
std::size_t first_line_end(const char* text, std::size_t size, bool all) {
  const auto* const end = std::find_if(text, text + size, ends_line);
  const auto at = static_cast<std::size_t>(end - text);
  if (at == size || (*end == '\r' && at + 1 == size && !all)) return 0;
  return at + (*end == '\r' && at + 1 < size && end[1] == '\n' ? 2 : 1);
}

}  // namespace

void PaddedText::grow(std::size_t room, std::size_t kept) {
  if (room <= room_) return;
  auto larger = std::make_unique_for_overwrite<char[]>(room + 2 * kernels::cpu::kTextPad);
  if (kept > 0) std::memcpy(larger.get() + kernels::cpu::kTextPad, data(), kept);
  std::memset(larger.get(), 0, kernels::cpu::kTextPad);
  storage_ = std::move(larger);
  room_ = room;
}

void Block::find(char separator, std::size_t count) {
  if (!found) fields.find(text.data(), size, separator, count, TextEnd::kFile);
  found = true;
}

Blocks::Blocks(std::unique_ptr<Bytes> bytes, Limits limits)
    : bytes_(std::move(bytes)), limits_{std::min(limits.block_bytes, limits.row_bytes), limits.row_bytes} {}

/// Reads once up to `wanted` more bytes behind the first `size`; false at the end.
bool Blocks::refill(PaddedText& text, std::size_t& size, std::size_t wanted) {
  if (ended_) return false;
  text.grow(size + wanted, size);
  const std::size_t got = bytes_->read(text.data() + size, wanted);
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
    throw Error(ErrorKind::kData,
                place +
                    "found a header with a double quote that does not end or stands within a name, expected "
                    "names of columns, each in quotes as a whole or without any");
  if (row.fields.empty()) throw Error(ErrorKind::kData, bytes_->name() + ": is empty, expected rows");
  refuse_columns(row.fields.size(), place);
  rest_begin_ += row.end;
  offset_ += row.end;
  lines_taken_ = row.lines;
  return std::move(row.fields);
}

/// Lets go of what is left of a line that was too long; false where the file ends in it.
bool Blocks::drop_line(Block& block) {
  while (dropping_) {
    const std::size_t end = first_line_end(block.text.data(), block.size, ended_);
    if (end == 0) {
      offset_ += block.size;
      block.size = 0;
      if (!refill(block.text, block.size, limits_.block_bytes)) return false;
      continue;
    }
    block.size -= end;
    offset_ += end;
    std::memmove(block.text.data(), block.text.data() + end, block.size);
    dropping_ = false;
  }
  return true;
}

bool Blocks::next(Block& block, char separator, std::size_t count) {
  start();
  block.found = false;
  block.size = rest_size_ - rest_begin_;
  block.text.grow(block.size + limits_.block_bytes, 0);
  if (block.size > 0) std::memcpy(block.text.data(), rest_.data() + rest_begin_, block.size);
  rest_begin_ = rest_size_ = 0;
  if (!drop_line(block)) return false;
  // Who waits for rows does not wait while some are at hand.
  bool more = !bytes_->may_wait() || block.size == 0;
  for (std::size_t taken = 0;; more = true) {
    if (more && block.size < limits_.row_bytes)
      refill(block.text, block.size,
             std::min(std::max(limits_.block_bytes, block.size), limits_.row_bytes - block.size));
    if (block.size == 0) return false;
    taken = cut(block, separator, count);
    if (taken == 0) continue;
    rest_.grow(block.size - taken, 0);
    rest_size_ = block.size - taken;
    std::memcpy(rest_.data(), block.text.data() + taken, rest_size_);
    block.offset = offset_;
    block.size = taken;
    offset_ += taken;
    return true;
  }
}

/// How much of the block is whole rows. No row is longer than the limit, so with so much text there is an end.
std::size_t Blocks::cut(Block& block, char separator, std::size_t count) {
  const char* const text = block.text.data();
  if (ended_) return block.size;
  const bool quotes = kernels::cpu::has_byte(text, block.size, '"');
  std::size_t taken =
      quotes ? block.fields.find(text, block.size, separator, count, TextEnd::kMore) : last_line_end(text, block.size);
  block.found = quotes && taken > 0;
  if (taken > 0 || block.size < limits_.row_bytes) return taken;
  if (quotes) taken = block.fields.find(text, block.size, separator, count, TextEnd::kLimit);
  if (taken == 0) {
    block.fields.refuse(
        fmt::format("found a row of more than {}, expected a shorter one; is it a file of rows, and the separator "
                    "{}?",
                    human_bytes(limits_.row_bytes), separator_name(separator)));
    taken = block.size;
  }
  dropping_ = taken == block.size && !ends_line(text[taken - 1]);
  block.found = true;
  return taken;
}

void refuse_columns(std::size_t count, const std::string& place) {
  if (count > kMostColumns)
    throw Error(ErrorKind::kData, fmt::format("{}found {} columns, expected at most {}; is the separator right?", place,
                                              with_commas(static_cast<std::int64_t>(count)),
                                              with_commas(static_cast<std::int64_t>(kMostColumns))));
}

}  // namespace dptrain::table
