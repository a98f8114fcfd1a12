#pragma once

// Arrays in NumPy's .npy format, versions 1.0 to 3.0 (numpy/lib/format.py): a magic number, a header that is a Python
// dictionary, then the elements. Parsing reads the header alone; elements are read by their place and converted.
// Nothing that a header claims is believed before the file's size bears it out. Any thread.

#include <cstdint>
#include <memory>
#include <string>

#include "core/files.h"
#include "core/shape.h"

namespace dptrain::data {

struct NpyArray {
  enum class Kind { kBool, kUnsigned, kSigned, kFloat };

  std::string place;                       ///< "x.npy", "data.npz, array 'x'"
  std::shared_ptr<const FileBytes> bytes;  ///< of the whole array file
  std::uint64_t data = 0;                  ///< where the elements begin
  Kind kind = Kind::kFloat;
  std::uint64_t element_bytes = 4;  ///< kBool 1; integers 1, 2, 4 or 8; floats 2, 4 or 8
  std::int64_t rows = 0;            ///< the first axis, at least 1
  Shape row;                        ///< the other axes, each at least 1; [1] where there is one axis

  bool is_integer() const { return kind != Kind::kFloat; }
  /// Bytes 0..255, or 0 and 1.
  bool is_bytes() const { return element_bytes == 1 && kind != Kind::kSigned; }
  std::string type() const;  ///< "int64"
};

/// Words of Error{kData} for files that are read by place: "x.npy: damaged: ...".
const FileVoice& data_voice();

/// `place` stands before all messages. Throws Error{kData} for anything that is not one whole array of numbers, row by
/// row (C order) and little endian.
NpyArray parse_npy(std::shared_ptr<const FileBytes> bytes, std::string place);

// Rows from `first` on, `count` of them, converted; `out` has room for their elements. Throw Error{kData}, naming the
// row.

/// Of an array that is_bytes(); a bool other than 0 is 1.
void read_npy(const NpyArray& array, std::int64_t first, std::int64_t count, std::uint8_t* out);
/// Exact but for integers beyond 2^24 and float64, which are rounded.
void read_npy(const NpyArray& array, std::int64_t first, std::int64_t count, float* out);
/// Of an array of integers; one that int32 does not hold is an error.
void read_npy(const NpyArray& array, std::int64_t first, std::int64_t count, std::int32_t* out);

}  // namespace dptrain::data
