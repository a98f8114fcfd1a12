#pragma once

// EventFile: a file of events that grows during a run, in the format TFRecord. Each record is its length (8 bytes,
// little-endian), the masked CRC-32C of the length, the bytes, and their masked CRC-32C. Whole records are buffered and
// written about every two seconds. After a failure they are kept and written later, and training continues. One thread.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"

namespace dptrain::train::tensorboard {

// Message: builds a message of Protocol Buffers, field by field, in their wire format
// (protobuf.dev/programming-guides/encoding). The few messages of TensorBoard need no more, so dptrain does not link
// the library. `field` is the number in the .proto file. A value.

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

  /// The next field; false at the end and for malformed bytes.
  bool next();
  int number() const { return number_; }
  std::uint64_t integer() const { return integer_; }  ///< value of a varint, or bits of a fixed field
  std::string_view bytes() const { return bytes_; }   ///< contents of a string, bytes or message

 private:
  bool take_varint(std::uint64_t& value);
  bool take_fixed(std::size_t size);

  std::string_view rest_, bytes_;
  int number_ = 0;
  std::uint64_t integer_ = 0;
};

class EventFile {
 public:
  /// The first write creates the file.
  explicit EventFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// Adds an event at the end, and writes to disk if it is time.
  void append(std::string_view event);
  /// Writes buffered events; false if that fails. Warns once while it fails.
  bool flush();

 private:
  std::string path_, pending_;
  double written_ = now_seconds();
  bool warned_ = false;
};

/// A record around these bytes.
std::string framed(std::string_view bytes);

/// Contents of a file's records, up to the first torn or damaged one; they point into `file`.
std::vector<std::string_view> records(std::string_view file);

/// Removes records for which `keep` returns false, and all from the first torn or damaged one on. Atomic; rewrites the
/// file only if something is removed. Throws Error{kWrite}; the file is then unchanged.
void filter_records(const std::string& path, const std::function<bool(std::string_view record)>& keep);

}  // namespace dptrain::train::tensorboard
