#pragma once

// Message: a message of Protocol Buffers that is being written, field by field, in their wire format
// (protobuf.dev/programming-guides/encoding). The few messages of TensorBoard need no more than this, so the executable
// does without the library. `field` is the number that the .proto file gives. A value.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dptrain::train::tensorboard {

class Message {
 public:
  /// int32, int64 and enum (negative values take ten bytes), bool.
  Message& integer(int field, std::int64_t value);
  Message& real(int field, double value);      ///< double
  Message& real32(int field, float value);     ///< float
  Message& text(int field, std::string_view);  ///< string, bytes
  Message& message(int field, const Message& inner) { return text(field, inner.bytes_); }
  Message& reals(int field, std::span<const double> values);  ///< repeated double, packed

  const std::string& bytes() const { return bytes_; }

 private:
  void tag(int field, int wire_type);
  void varint(std::uint64_t value);
  void fixed(const void* value, std::size_t size);

  std::string bytes_;
};

/// Reads a message's fields in their order.
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}

  /// The next field; false at the end, and where the bytes are no message.
  bool next();
  int number() const { return number_; }
  std::uint64_t integer() const { return integer_; }  ///< of a varint; the bits of a fixed one
  std::string_view bytes() const { return bytes_; }   ///< of a string, bytes or message

 private:
  bool take_varint(std::uint64_t& value);
  bool take_fixed(std::size_t size);

  std::string_view rest_, bytes_;
  int number_ = 0;
  std::uint64_t integer_ = 0;
};

}  // namespace dptrain::train::tensorboard
