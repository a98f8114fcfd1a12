#pragma once

// Hdf5Writer builds an HDF5 file in memory, in the oldest layout of the format, which every reader supports. The caller
// then writes the bytes with full control of errors; the library's own file access may report a full disk only when it
// closes the file. The whole file must fit in memory. The library is not thread-safe: a writer holds one process-wide
// lock from its construction to bytes() or its destruction, so keep it short-lived. Everything throws Error{kInternal}
// with the library's message.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape.h"

namespace dptrain::formats {

/// Maximum size of an attribute: a message of an HDF5 object header has at most 64 KiB (Keras's constant).
constexpr std::size_t kAttributeBytes = 64512;

class Hdf5Writer {
 public:
  /// `expected_bytes`: estimate of all data, which saves reallocations.
  explicit Hdf5Writer(std::uint64_t expected_bytes);
  ~Hdf5Writer();

  // Paths start at the root ("model_weights/conv1"; "" is the root); missing groups are created.

  void group(const std::string& path);
  /// float32, little endian, contiguous.
  void floats(const std::string& path, const Shape& shape, std::span<const float> values);
  /// A scalar of 64 bits.
  void whole_number(const std::string& path, std::int64_t value);
  /// One text, not empty, as a scalar of fixed length.
  void text(const std::string& path, std::string_view value);

  /// Scalar, variable length, UTF-8: any size.
  void text_attribute(const std::string& path, const std::string& name, const std::string& value);
  void number_attribute(const std::string& path, const std::string& name, std::uint32_t value);
  /// One-dimensional, fixed length, null-padded; beyond kAttributeBytes cut into `name0`, `name1`, ... as Keras does.
  /// An empty list is a dataspace without elements, not H5S_NULL, which h5py does not return as a list.
  void list_attribute(const std::string& path, const std::string& name, const std::vector<std::string>& values);

  /// The whole file, valid as long as the writer exists. Nothing may be added afterwards.
  std::span<const std::byte> bytes();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The seal: 24 bytes after the end of the HDF5 data, "\ndptrain crc32 1a2b3c4d\n", with the CRC-32 of all bytes before
// them. Readers of HDF5 ignore it, since they stop at the end address in the file's header. A library that changes the
// file cuts it off, and the file counts as unsealed. Pure; any thread.

constexpr std::size_t kSealBytes = 24;
constexpr std::string_view kSealWords = "\ndptrain crc32 ";  ///< its first bytes

std::array<std::byte, kSealBytes> seal(std::uint32_t crc);

}  // namespace dptrain::formats
