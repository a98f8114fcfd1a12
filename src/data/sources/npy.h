#pragma once

// Arrays in NumPy's .npy format, versions 1.0 to 3.0 (numpy/lib/format.py): a magic number, a Python dictionary as the
// header, then the elements. parse_npy() reads only the header and checks it against the file's size. Any thread.
// NpyWriter writes version 1.0, row by row.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/dtype.h"
#include "core/files.h"
#include "core/shape.h"

namespace dptrain::data {

struct NpyArray {
  enum class Kind { kBool, kUnsigned, kSigned, kFloat };

  std::string place;                       ///< "x.npy", "data.npz, array 'x'"
  std::shared_ptr<const FileBytes> bytes;  ///< the whole .npy file
  std::uint64_t data = 0;                  ///< offset of the first element
  Kind kind = Kind::kFloat;
  std::uint64_t element_bytes = 4;  ///< kBool 1; integers 1, 2, 4 or 8; floats 2, 4 or 8
  std::int64_t rows = 0;            ///< first axis, at least 1
  Shape row;                        ///< other axes, each at least 1; [1] if there is one axis

  bool is_integer() const { return kind != Kind::kFloat; }
  /// Whether elements are uint8 or bool.
  bool is_bytes() const { return element_bytes == 1 && kind != Kind::kSigned; }
  std::string type() const;  ///< "int64"
};

/// Error messages of FileBytes as Error{kData}: "x.npy: damaged: ...".
const FileErrors& array_file_errors();

/// `place` begins all messages. Throws Error{kData} unless the file is one whole array of numbers in C order and little
/// endian.
NpyArray parse_npy(std::shared_ptr<const FileBytes> bytes, std::string place);

// The read_npy() functions convert the rows first to first + count - 1 to `out`. They throw Error{kData} with the row.

/// Only for arrays with is_bytes(). Any bool other than 0 becomes 1.
void read_npy(const NpyArray& array, std::int64_t first, std::int64_t count, std::uint8_t* out);
/// Rounds integers beyond 2^24 and float64; exact otherwise.
void read_npy(const NpyArray& array, std::int64_t first, std::int64_t count, float* out);
/// Only for arrays of integers. Throws for an integer outside int32.
void read_npy(const NpyArray& array, std::int64_t first, std::int64_t count, std::int32_t* out);

/// Writes an array whose number of rows is unknown until finish(), as an AtomicFile. One thread.
///
///   NpyWriter file("masks.npy", DType::kU8, {480, 640});
///   file.append(rows);  // bytes of whole rows, in C order
///   file.finish();
class NpyWriter {
 public:
  /// Of float32, float64 or whole numbers. Throws Error{kWrite}, as all functions do.
  NpyWriter(const std::string& path, DType type, const Shape& row);
  void append(std::span<const std::byte> rows) { file_.append(rows); }
  void finish();
  std::int64_t rows() const;

 private:
  std::string header() const;

  AtomicFile file_;
  const DType type_;
  const Shape row_;
  std::uint64_t header_bytes_ = 0;
};

}  // namespace dptrain::data
