#pragma once

// Parses the header of a usual JPEG, builds lookup tables of its Huffman codes, and extracts the entropy-coded bytes of
// its scan. Private to the module. Any thread.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/images/image_decoders.h"
#include "kernels/cpu/jpeg_scan.h"

namespace dptrain::data {

// The segments before a JPEG's entropy-coded data, for usual files: 8 bits, sequential, Huffman codes, gray or YCbCr,
// one scan of all components. Pure functions; any thread.

/// A Huffman table as stored in the file: the number of codes of each length, then their symbols.
struct JpegCodes {
  ImageBytes counts;  ///< [16]; empty: no table
  ImageBytes symbols;
};

struct JpegComponent {
  std::int64_t across = 1, down = 1;      ///< blocks per MCU
  std::array<std::uint16_t, 64> steps{};  ///< quantisation steps, in zigzag order
  JpegCodes dc, ac;
};

struct JpegHeader {
  std::int64_t height = 0, width = 0;
  int components = 0;  ///< 1 or 3; the second and third have one block per MCU
  std::array<JpegComponent, 3> component;
  std::int64_t restart_interval = 0;  ///< MCUs; 0: none
  int orientation = 1;                ///< EXIF's, 1..8
  std::size_t scan = 0;               ///< where the entropy-coded data begins
};

/// Returns false for a damaged or unusual file. `header` is then unspecified, and libjpeg must decode the file. The
/// header refers to no memory but that of `file`.
bool read_jpeg_header(ImageBytes file, JpegHeader& header);

/// Returns false for an invalid Huffman table, or one that libjpeg refuses.
bool make_jpeg_table(const JpegCodes& codes, kernels::cpu::JpegDcTable& table);
bool make_jpeg_table(const JpegCodes& codes, kernels::cpu::JpegAcTable& table);

/// Caches the last table, for files with the same codes.
template <class Table>
class JpegTableSlot {
 public:
  /// The result is valid until the next call; nullptr if make_jpeg_table() returns false.
  const Table* get(const JpegCodes& codes) {
    if (made_ && same(codes.counts, counts_) && same(codes.symbols, symbols_)) return &table_;
    made_ = make_jpeg_table(codes, table_);
    counts_.assign(codes.counts.begin(), codes.counts.end());
    symbols_.assign(codes.symbols.begin(), codes.symbols.end());
    return made_ ? &table_ : nullptr;
  }

 private:
  static bool same(ImageBytes a, const std::vector<std::uint8_t>& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
  }

  Table table_;
  std::vector<std::uint8_t> counts_, symbols_;
  bool made_ = false;
};

/// The bytes of a scan without stuffed bytes and markers, one restart interval after another.
struct JpegScanBytes {
  std::vector<std::uint8_t> bytes;  ///< at least the size of the scan and kernels::cpu::kJpegScanPad more
  std::vector<std::size_t> ends;    ///< end offset of each interval
};

/// `first`: offset of the scan in the file. Returns false for an unexpected marker, or without an end-of-image marker.
bool read_jpeg_scan(ImageBytes file, std::size_t first, JpegScanBytes& scan);

}  // namespace dptrain::data
