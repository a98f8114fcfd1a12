#include "train/tensorboard/wire.h"

#include <bit>
#include <cstring>

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

}  // namespace dptrain::train::tensorboard
