#pragma once

// Reads HDF5 files as Keras and Hdf5Writer make them: groups, contiguous datasets, string and number attributes. Files
// are untrusted, and the HDF5 library writes outside of its buffers for damaged ones; here every access is checked
// (tests/fuzz). The reader follows hard links only and allocates no more than the size of the file. Values are cheap to
// copy and keep the file open; one thread at a time. All errors are Error{kCheckpoint} and name the file.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape.h"
#include "formats/hdf5/hdf5_object.h"

namespace dptrain::formats {

class Hdf5Group;
class Hdf5Dataset;
struct Hdf5Context;  ///< the bytes and a cache of decoded objects

/// Base of groups and datasets: attributes.
class Hdf5Object {
 public:
  const std::string& path() const noexcept { return path_; }
  const Hdf5Bytes& file() const noexcept;

  bool has(std::string_view attribute) const noexcept;
  /// A scalar string; nothing when absent or empty.
  std::optional<std::string> text(std::string_view attribute) const;
  std::optional<std::int64_t> number(std::string_view attribute) const;
  /// A list of strings, `name` or `name0`, `name1`, ...; absent is empty.
  std::vector<std::string> list(std::string_view attribute) const;

 protected:
  Hdf5Object(std::shared_ptr<Hdf5Context> context, std::string path, std::uint64_t address);

  std::shared_ptr<Hdf5Context> context_;
  std::string path_;  ///< from the root, "" for the root
  std::shared_ptr<const Hdf5Header> header_;

 private:
  const Hdf5Attribute* find(std::string_view name) const noexcept;
};

class Hdf5Group : public Hdf5Object {
 public:
  /// The root of a file. Refuses other files and truncated ones.
  static Hdf5Group root(std::shared_ptr<const Hdf5Bytes> bytes);

  bool contains(std::string_view name) const;    ///< a direct child
  std::vector<std::string> names() const;        ///< of the children, sorted
  Hdf5Group group(std::string_view path) const;  ///< slashes go down; missing is damage
  Hdf5Dataset dataset(std::string_view path) const;
  std::optional<Hdf5Group> find_group(std::string_view name) const;

 private:
  Hdf5Group(std::shared_ptr<Hdf5Context> context, std::string path, std::uint64_t address);
  std::uint64_t child(std::string_view name) const;

  Hdf5Symbols children_;
};

class Hdf5Dataset : public Hdf5Object {
 public:
  Shape shape() const;
  std::uint64_t elements() const;
  /// Any plain number type or bfloat16, converted. Checked against the attribute `crc32` if there is one.
  std::vector<float> floats() const;
  bool is_int8() const noexcept;
  /// A scalar that is an integer, of any width.
  std::int64_t whole_number() const;
  /// A scalar string of fixed length; checked likewise.
  std::string text_value() const;

 private:
  friend class Hdf5Group;
  Hdf5Dataset(std::shared_ptr<Hdf5Context> context, std::string path, std::uint64_t address);
  bool is_bfloat16() const;
  std::uint64_t length() const;  ///< bytes of data, after all checks
  void read(std::span<std::byte> out) const;
};

}  // namespace dptrain::formats
