#pragma once

// A JPEG's Huffman codes as tables that are looked up, and its scan without what is stuffed into it. Private to the
// room. Any thread.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/images/image_decoders.h"
#include "kernels/cpu/jpeg_scan.h"

namespace dptrain::data {

// What stands in front of a JPEG's entropy-coded data, for files of the usual kind: 8 bits, sequential, Huffman codes,
// gray or YCbCr, one scan of all components. Private to the room. Pure functions; any thread.

/// A table of codes as the file has it: how many of each length, then their symbols.
struct JpegCodes {
  ImageBytes counts;  ///< [16]; empty: there is none
  ImageBytes symbols;
};

struct JpegComponent {
  std::int64_t across = 1, down = 1;      ///< blocks of an MCU
  std::array<std::uint16_t, 64> steps{};  ///< of the quantisation, in zigzag order
  JpegCodes dc, ac;
};

struct JpegHeader {
  std::int64_t height = 0, width = 0;
  int components = 0;  ///< 1 or 3: then the second and the third have one block in an MCU
  std::array<JpegComponent, 3> component;
  std::int64_t restart_interval = 0;  ///< MCUs; 0: none
  int orientation = 1;                ///< EXIF's, 1..8
  std::size_t scan = 0;               ///< where the entropy-coded data begins
};

/// false: the file is of another kind, or something is wrong with it or merely unusual; `header` is then unspecified,
/// and libjpeg has the last word. Nothing in it refers to memory but the file's.
bool read_jpeg_header(ImageBytes file, JpegHeader& header);

/// false: no code of the format, or one that libjpeg refuses.
bool make_jpeg_table(const JpegCodes& codes, kernels::cpu::JpegDcTable& table);
bool make_jpeg_table(const JpegCodes& codes, kernels::cpu::JpegAcTable& table);

/// The last table made, kept for files with the same codes.
template <class Table>
class JpegTableSlot {
 public:
  /// Stays until the next call; nullptr as above.
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

/// A scan's bytes, of one restart interval behind the other.
struct JpegScanBytes {
  std::vector<std::uint8_t> bytes;  ///< with kernels::cpu::kJpegScanPad more; at least as large as the scan
  std::vector<std::size_t> ends;    ///< of the intervals
};

/// `first`: where the scan begins in the file. false: something in it is no entropy-coded data, a restart marker is not
/// the one expected, or no end of the image follows.
bool read_jpeg_scan(ImageBytes file, std::size_t first, JpegScanBytes& scan);

}  // namespace dptrain::data
