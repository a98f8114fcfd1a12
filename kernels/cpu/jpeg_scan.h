#pragma once

// The entropy coding of a sequential JPEG: bits to coefficients, a run of MCUs at a time. Any thread; the work is done
// by the calling thread.
//
// Blocks lie in groups of four neighbours: row r of a group's blocks is 32 coefficients, 8 of each block, in natural
// order, so that a vector holds the same row of several blocks (jpeg_pixels.h).

#include <cstddef>
#include <cstdint>

namespace dptrain::kernels::cpu {

inline constexpr int kJpegGroup = 4;        ///< blocks in a group
inline constexpr int kJpegGroupSize = 256;  ///< coefficients of a group
inline constexpr int kJpegDcBits = 9;       ///< what the tables look up at once
inline constexpr int kJpegAcBits = 10;
/// Bytes behind the last of the scan that are read, whatever is in them: an MCU's blocks at 256 bytes each at most.
inline constexpr size_t kJpegScanPad = 4096;
/// What an end of block adds to the place in the block: more than any run of zeros can reach.
inline constexpr int kJpegEndOfBlock = 80;

inline constexpr int kJpegLongestCode = 16;

/// Codes longer than what a table looks up. A code of `bits` bits, at the upper end of 16, is below limit[bits]; its
/// symbol is symbols[(code >> (16 - bits)) + offset[bits]].
struct JpegLongCodes {
  uint32_t limit[kJpegLongestCode + 1];
  int32_t offset[kJpegLongestCode + 1];
  uint8_t symbols[256];
};

/// A code of a DC table. bits 0: a longer one, or none.
struct JpegDcCode {
  uint8_t bits;
  uint8_t size;  ///< bits of the value that follow, 15 at most
};

struct JpegDcTable {
  JpegDcCode codes[1 << kJpegDcBits];
  JpegLongCodes longer;
};

/// Bits that a code of an AC table takes with its value, at most; others are rare.
inline constexpr int kJpegMostAcBits = 20;

/// One code of an AC table, and the code behind it with its value, if all of them are among the bits looked up. A run
/// is how many places a code goes on: zeros and its value, or kJpegEndOfBlock.
struct JpegAcCode {
  uint8_t bits;        ///< of both with their values; 0: a longer code, or none, or one with a longer value
  uint8_t first_bits;  ///< of the first and its value
  uint8_t code_bits;   ///< of the first alone
  uint8_t shift;       ///< 63 - bits of the first value
  uint8_t first_run;
  uint8_t run;           ///< of both
  uint8_t second_place;  ///< run - 1; without a second: run
  int8_t second_value;   ///< 0: there is none, or it has none
};

struct JpegAcTable {
  JpegAcCode codes[1 << kJpegAcBits];
  JpegLongCodes longer;
};

/// Where a scan is read. Its bytes have neither stuffed zeros nor markers.
struct JpegBits {
  const uint8_t* next;  ///< byte to load next
  const uint8_t* end;   ///< of the scan; kJpegScanPad bytes follow
  uint64_t bits = 0;    ///< at the upper end
  uint32_t count = 0;   ///< how many of them count; others are those that come next, or 0
};

/// A component's part of the MCUs. `coefficients` are rows of groups, 256 numbers each, `row_stride` numbers apart, all
/// 0 at first.
struct JpegScanPart {
  const JpegDcTable* dc;
  const JpegAcTable* ac;
  int16_t* coefficients;
  int64_t row_stride;
  int across, down;  ///< blocks of an MCU
  int prediction;    ///< of the DC coefficient; written
};

/// MCUs [first, first + count) of a row of them. false: the bits are none of a sound file (a code that does not exist,
/// a block of more than 64 coefficients, a DC coefficient beyond 16 bits, the end of the scan).
bool decode_jpeg_mcus(JpegBits& bits, JpegScanPart* parts, int part_count, int64_t first, int64_t count);

/// 64 numbers in zigzag order to those of a group of four blocks that are the same.
void lay_out_jpeg_steps(const uint16_t* zigzag, int16_t* group);

}  // namespace dptrain::kernels::cpu
