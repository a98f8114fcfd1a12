#pragma once

// A JPEG's Huffman codes as tables that are looked up, and its scan without what is stuffed into it. Private to the
// room. Any thread.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/images/jpeg/jpeg_header.h"
#include "kernels/cpu/jpeg_scan.h"

namespace dptrain::data {

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
