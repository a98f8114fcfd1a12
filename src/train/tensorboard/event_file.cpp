#include "train/tensorboard/event_file.h"

#include <bit>
#include <cstring>
#include <filesystem>

#include "core/crc32.h"
#include "core/format.h"
#include "core/log.h"
#include "train/line_file.h"

namespace dptrain::train::tensorboard {
namespace {

static_assert(std::endian::native == std::endian::little, "fixed fields are little-endian");

enum WireType { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

}  // namespace

Message& Message::integer(int field, std::int64_t value) {
  tag(field, kVarint);
  varint(static_cast<std::uint64_t>(value));
  return *this;
}

Message& Message::real(int field, double value) {
  tag(field, kFixed64);
  fixed(&value, sizeof value);
  return *this;
}

Message& Message::real32(int field, float value) {
  tag(field, kFixed32);
  fixed(&value, sizeof value);
  return *this;
}

Message& Message::text(int field, std::string_view value) {
  tag(field, kLengthDelimited);
  varint(value.size());
  bytes_ += value;
  return *this;
}

Message& Message::reals(int field, std::span<const double> values) {
  return text(field, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

void Message::tag(int field, int wire_type) {
  varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}

void Message::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void Message::fixed(const void* value, std::size_t size) { bytes_.append(static_cast<const char*>(value), size); }

bool Fields::next() {
  std::uint64_t tag = 0;
  if (rest_.empty() || !take_varint(tag)) return false;
  number_ = static_cast<int>(tag >> 3);
  bytes_ = {};
  switch (tag & 7) {
    case kVarint: return take_varint(integer_);
    case kFixed64: return take_fixed(8);
    case kFixed32: return take_fixed(4);
    case kLengthDelimited: {
      std::uint64_t size = 0;
      if (!take_varint(size) || size > rest_.size()) return false;
      bytes_ = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return true;
    }
    default: return false;
  }
}

bool Fields::take_varint(std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool Fields::take_fixed(std::size_t size) {
  if (rest_.size() < size) return false;
  integer_ = 0;
  std::memcpy(&integer_, rest_.data(), size);
  rest_.remove_prefix(size);
  return true;
}

namespace {

constexpr double kWriteEverySeconds = 2;
constexpr std::size_t kWriteAtBytes = std::size_t{1} << 20;
constexpr std::size_t kHeadBytes = 12, kTailBytes = 4;

/// TensorFlow's masking: a CRC of data that contains its own CRC is unreliable.
std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U; }

std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::memcpy(text.data(), &value, bytes);
  return text;
}

bool has_checksum(std::string_view bytes, const char* stored) {
  std::uint32_t crc = 0;
  std::memcpy(&crc, stored, sizeof crc);
  return masked(crc32c(bytes)) == crc;
}

}  // namespace

std::string framed(std::string_view bytes) {
  const std::string length = little_endian(bytes.size(), 8);
  return length + little_endian(masked(crc32c(length)), 4) + std::string(bytes) +
         little_endian(masked(crc32c(bytes)), 4);
}

std::vector<std::string_view> records(std::string_view file) {
  std::vector<std::string_view> all;
  while (file.size() >= kHeadBytes + kTailBytes && has_checksum(file.substr(0, 8), file.data() + 8)) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    if (length > file.size() - kHeadBytes - kTailBytes) break;
    const std::string_view bytes = file.substr(kHeadBytes, length);
    if (!has_checksum(bytes, bytes.data() + length)) break;
    all.push_back(bytes);
    file.remove_prefix(kHeadBytes + length + kTailBytes);
  }
  return all;
}

void filter_records(const std::string& path, const std::function<bool(std::string_view record)>& keep) {
  const std::string all = read_text(path);
  std::string kept;
  for (const std::string_view record : records(all))
    if (keep(record)) kept += framed(record);
  if (kept.size() != all.size()) write_text(path, kept);
}

void EventFile::append(std::string_view event) {
  pending_ += framed(event);
  if (pending_.size() >= kWriteAtBytes || now_seconds() - written_ >= kWriteEverySeconds) flush();
}

bool EventFile::flush() {
  written_ = now_seconds();
  if (pending_.empty()) return true;
  std::error_code ignored;  // the write reports it
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  const int failure = append_whole(path_, "", pending_);
  if (failure == 0) pending_.clear();
  if (failure != 0 && !warned_)
    log::warn(fmt::format("{}: cannot write: {}; events are kept and written later", path_, std::strerror(failure)));
  warned_ = failure != 0;
  return failure == 0;
}

}  // namespace dptrain::train::tensorboard
