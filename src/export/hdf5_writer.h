#pragma once

// Hdf5Writer builds an HDF5 file in memory, in the oldest layout of the format: the one that every reader knows. The
// bytes are then ours to write with full control of errors, which the library's own file access has not (a full disk
// may show only when it closes). Cost: the size of the file in memory. The library is not thread-safe: a writer holds
// one lock of the process from its birth to its end, so keep it short-lived. Everything throws Error{kInternal} with
// the library's words.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape.h"

namespace dptrain::exporting {

/// Most that an attribute may hold: an HDF5 object header takes 64 KiB per message (Keras's constant).
constexpr std::size_t kAttributeBytes = 64512;

class Hdf5Writer {
 public:
  /// `expected_bytes`: of all data; a guess saves growing.
  explicit Hdf5Writer(std::uint64_t expected_bytes);
  ~Hdf5Writer();

  // Paths are given from the root ("model_weights/conv1"; "" is the root); groups on the way are made.

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
  /// An empty list is a dataspace of no elements, never H5S_NULL, which h5py hands to Keras as something that is no
  /// list.
  void list_attribute(const std::string& path, const std::string& name, const std::vector<std::string>& values);

  /// The whole file; good as long as the writer lives. Nothing may be added after it.
  std::span<const std::byte> bytes();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The seal: 24 bytes after the end of the HDF5 data, "\ndptrain crc32 1a2b3c4d\n", the CRC-32 of all bytes before them.
// Readers of HDF5 look no further than the end address in the file's head, so they do not see it; whoever changes the
// file with such a library cuts it off, and the file counts as unsealed. Pure; any thread.

constexpr std::size_t kSealBytes = 24;
constexpr std::string_view kSealWords = "\ndptrain crc32 ";  ///< it begins with these

std::array<std::byte, kSealBytes> seal(std::uint32_t crc);

}  // namespace dptrain::exporting
