#pragma once

// IDX, the file format of MNIST: two zero bytes, the element type, the rank, then each extent as a big-endian 32-bit
// number, then the elements, big endian, last index fastest. Pure functions over a ByteReader; any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "data/sources/byte_reader.h"

namespace dptrain::data {

/// One file in memory. The elements are still as the file holds them.
struct IdxFile {
  std::string name;
  DType type = DType::kU8;  ///< kU8, kI8, kI16, kI32, kF32 or kF64
  std::int64_t count = 0;   ///< the first extent: items; at least 1
  Shape item;               ///< the other extents, each at least 1; rank 0 where the file has one dimension
  std::vector<std::uint8_t> bytes;
  std::uint64_t stored_bytes = 0;  ///< size of the file on disk
};

/// Reads all of it. Memory grows with the data that arrive, never with what the header claims. Throws Error{kData} for
/// anything that is not exactly one whole IDX file.
IdxFile parse_idx(ByteReader& reader);

bool is_integer(const IdxFile& file);
/// All elements as float; exact but for int32 beyond 2^24 and float64, which are rounded.
std::vector<float> idx_floats(const IdxFile& file);
/// All elements of an integer file.
std::vector<std::int32_t> idx_integers(const IdxFile& file);

}  // namespace dptrain::data
