#include "data/video/container_length.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace dptrain::data {
namespace {

using Head = std::array<std::uint8_t, 16>;

/// 16 bytes from offset `place`; zeros beyond the end of the file.
Head head_at(const ReadAt& read, std::int64_t place) {
  Head head{};
  read(place, head);
  return head;
}

std::string_view name_in(const Head& head, std::size_t at) {
  return {reinterpret_cast<const char*>(head.data()) + at, 4};
}

/// Big-endian.
std::uint64_t number_in(const Head& head, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | head[at + i];
  return value;
}

/// place + bytes, at most 2^62.
std::int64_t end_of(std::int64_t place, std::uint64_t bytes) {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 62;
  return place + static_cast<std::int64_t>(std::min(bytes, kFar - static_cast<std::uint64_t>(place)));
}

/// Walks the top-level boxes up to one without a length or beyond the file.
std::optional<std::int64_t> boxes_end(std::int64_t size, const ReadAt& read) {
  constexpr std::uint64_t kLongHead = 16, kShortHead = 8;
  for (std::int64_t place = 0; place + static_cast<std::int64_t>(kShortHead) <= size;) {
    const Head head = head_at(read, place);
    std::uint64_t bytes = number_in(head, 0, 4);
    const bool is_long = bytes == 1;
    if (is_long) bytes = number_in(head, 8, 8);
    if (bytes < (is_long ? kLongHead : kShortHead)) return std::nullopt;  // 0: to the end of the file; else not a box
    const std::int64_t end = end_of(place, bytes);
    if (end > size) return end;
    place = end;
  }
  return std::nullopt;
}

std::optional<std::int64_t> riff_end(std::int64_t size, const ReadAt& read) {
  constexpr std::int64_t kHead = 8;
  for (std::int64_t place = 0; place + kHead <= size;) {
    const Head head = head_at(read, place);
    if (name_in(head, 0) != "RIFF") return std::nullopt;
    const std::uint64_t bytes = number_in({head[7], head[6], head[5], head[4]}, 0, 4);  // little-endian
    const std::int64_t end = end_of(place + kHead, bytes);
    if (end > size) return end;
    place = end + static_cast<std::int64_t>(bytes % 2);
  }
  return std::nullopt;
}

/// An EBML number. Its size is 1 + the number of leading zero bits of its first byte.
struct Varint {
  std::size_t bytes = 0;  ///< 0: none
  std::uint64_t value = 0;
  bool unknown = false;  ///< all ones: unknown length
};

Varint varint_in(const Head& head, std::size_t at) {
  Varint number;
  for (std::size_t bytes = 1; bytes <= 8; ++bytes) {
    const auto marker = static_cast<std::uint8_t>(1U << (8 - bytes));
    if ((head[at] & marker) == 0) continue;
    const std::uint64_t ones = (std::uint64_t{1} << (7 * bytes)) - 1;
    number.bytes = bytes;
    number.value = number_in(head, at, bytes) & ones;
    number.unknown = number.value == ones;
    return number;
  }
  return number;
}

/// End of the segment, which follows the EBML header and contains the rest of the file.
std::optional<std::int64_t> segment_end(std::int64_t size, const ReadAt& read) {
  constexpr std::size_t kId = 4;
  constexpr std::uint64_t kSegment = 0x18538067;
  const Varint header = varint_in(head_at(read, 0), kId);
  if (header.bytes == 0 || header.unknown) return std::nullopt;
  const std::int64_t place = end_of(static_cast<std::int64_t>(kId + header.bytes), header.value);
  if (place >= size) return place;
  const Head head = head_at(read, place);
  if (number_in(head, 0, kId) != kSegment) return std::nullopt;
  const Varint segment = varint_in(head, kId);
  if (segment.bytes == 0 || segment.unknown) return std::nullopt;
  const std::int64_t end = end_of(place + static_cast<std::int64_t>(kId + segment.bytes), segment.value);
  return end > size ? std::optional(end) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> missing_length(std::int64_t size, const ReadAt& read) {
  constexpr std::uint64_t kEbml = 0x1A45DFA3;
  const Head head = head_at(read, 0);
  if (number_in(head, 0, 4) == kEbml) return segment_end(size, read);
  if (name_in(head, 0) == "RIFF" && name_in(head, 8) == "AVI ") return riff_end(size, read);
  static constexpr std::array<std::string_view, 6> kBoxes{"ftyp", "moov", "mdat", "free", "wide", "skip"};
  if (std::find(kBoxes.begin(), kBoxes.end(), name_in(head, 4)) != kBoxes.end()) return boxes_end(size, read);
  return std::nullopt;
}

}  // namespace dptrain::data
