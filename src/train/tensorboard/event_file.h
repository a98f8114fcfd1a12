#pragma once

// EventFile: a file of events that grows while a run goes on. It is a file of TFRecord: each record is its length (8
// bytes, little-endian), the masked CRC-32C of these, the bytes, and their masked CRC-32C. Records are gathered and
// written about every two seconds, whole ones only; what cannot be written is kept and tried again, and training does
// not stop for it. One thread.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"

namespace dptrain::train::tensorboard {

// Message: a message of Protocol Buffers that is being written, field by field, in their wire format
// (protobuf.dev/programming-guides/encoding). The few messages of TensorBoard need no more than this, so the executable
// does without the library. `field` is the number that the .proto file gives. A value.

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

class EventFile {
 public:
  /// The file appears with its first records.
  explicit EventFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// Behind those that there are; to the disk when it is time.
  void append(std::string_view event);
  /// Writes what is gathered; false: it could not be written. Warns once while it fails.
  bool flush();

 private:
  std::string path_, pending_;
  double written_ = now_seconds();
  bool warned_ = false;
};

/// A record around these bytes.
std::string framed(std::string_view bytes);

/// What the records of such a file hold, up to the first that is torn or damaged; they point into `file`.
std::vector<std::string_view> records(std::string_view file);

/// Takes the records out that `keep` does not like, and what is torn or damaged with all behind it. Atomically; a file
/// of which all may stay is not touched. Throws Error{kWrite}; then it is as it was.
void filter_records(const std::string& path, const std::function<bool(std::string_view record)>& keep);

}  // namespace dptrain::train::tensorboard
