#pragma once

// IDX, the file format of MNIST: two zero bytes, element type, rank, each extent as a big-endian 32-bit number, then
// the elements, big endian, last index fastest. Pure functions over a ByteReader; any thread.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"

namespace dptrain::data {

/// Reads a file sequentially and unpacks gzip. Only the thread that opens a data set uses it. Tests and fuzzers pass a
/// MemoryReader to the parsers.
class ByteReader {
 public:
  virtual ~ByteReader() = default;

  /// Reads `count` bytes, fewer only at the end of the file. Throws Error{kData} if it cannot be read or unpacked.
  virtual std::size_t read(void* to, std::size_t count) = 0;
  /// Number of bytes read so far.
  virtual std::uint64_t offset() const = 0;
  /// Name of the file in messages.
  virtual const std::string& name() const = 0;
  /// Size on disk: the number of bytes that can be read, or the size of the archive if packed().
  virtual std::uint64_t stored_bytes() const = 0;
  virtual bool packed() const = 0;
  /// Whether read() ended before the end of the archive: bytes or the checksum are missing.
  virtual bool cut_short() const { return false; }
};

/// Opens a plain or gzip file, recognized by its first bytes. Throws Error{kData} if it cannot be opened.
std::unique_ptr<ByteReader> open_bytes(const std::string& path);

/// Reads from memory that the caller owns.
class MemoryReader final : public ByteReader {
 public:
  MemoryReader(const std::uint8_t* data, std::size_t size, std::string name)
      : data_(data), size_(size), name_(std::move(name)) {}

  std::size_t read(void* to, std::size_t count) override {
    const std::size_t taken = count < size_ - offset_ ? count : size_ - offset_;
    if (taken > 0) std::memcpy(to, data_ + offset_, taken);
    offset_ += taken;
    return taken;
  }
  std::uint64_t offset() const override { return offset_; }
  const std::string& name() const override { return name_; }
  std::uint64_t stored_bytes() const override { return size_; }
  bool packed() const override { return false; }

 private:
  const std::uint8_t* data_;
  std::size_t size_, offset_ = 0;
  std::string name_;
};

/// One file in memory. The elements are as stored in the file.
struct IdxFile {
  std::string name;
  DType type = DType::kU8;  ///< kU8, kI8, kI16, kI32, kF32 or kF64
  std::int64_t count = 0;   ///< first extent: number of items, at least 1
  Shape item;               ///< other extents, each at least 1; rank 0 if the file has one dimension
  std::vector<std::uint8_t> bytes;
  std::uint64_t stored_bytes = 0;  ///< size of the file on disk
};

/// Reads the whole file. Memory grows with the data read, not with the size in the header. Throws Error{kData} unless
/// the input is exactly one whole IDX file.
IdxFile parse_idx(ByteReader& reader);

bool is_integer(const IdxFile& file);
/// All elements as float. Rounds int32 beyond 2^24 and float64; exact otherwise.
std::vector<float> idx_floats(const IdxFile& file);
/// All elements of an integer file.
std::vector<std::int32_t> idx_integers(const IdxFile& file);

}  // namespace dptrain::data
