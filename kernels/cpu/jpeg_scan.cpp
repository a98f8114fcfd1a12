#include "kernels/cpu/jpeg_scan.h"

#include <array>
#include <bit>
#include <cstring>

#include "kernels/cpu/targets.h"

// Scalar code: what the instruction sets add are shifts by a register that need no flags.
#define HWY_TARGET_INCLUDE "kernels/cpu/jpeg_scan.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#if !defined(DPTRAIN_KERNELS_CPU_JPEG_SCAN_ONCE)
#define DPTRAIN_KERNELS_CPU_JPEG_SCAN_ONCE
namespace dptrain::kernels::cpu {
namespace {

/// Where coefficient k of a block's zigzag lies in its group; those beyond 63 at the place of 63, which is 0 then.
constexpr auto kJpegPlaces = [] {
  std::array<uint8_t, 64 + 2 * kJpegEndOfBlock> places{};
  int row = 0, column = 0;
  bool up = true;
  for (size_t k = 0; k < 64; ++k) {
    places[k] = static_cast<uint8_t>(row * 8 * kJpegGroup + column);
    const bool turn = up ? row == 0 || column == 7 : column == 0 || row == 7;
    if (turn) {
      ((up ? column < 7 : row == 7) ? column : row) += 1;
      up = !up;
    } else {
      row += up ? -1 : 1, column += up ? 1 : -1;
    }
  }
  for (size_t k = 64; k < places.size(); ++k) places[k] = places[63];
  return places;
}();

}  // namespace
}  // namespace dptrain::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

static_assert(std::endian::native == std::endian::little);

/// 56 bits or more. Reads 8 bytes from `next` on.
HWY_INLINE void fill_jpeg_bits(JpegBits& in) {
  uint64_t word;
  std::memcpy(&word, in.next, sizeof word);
  in.bits |= __builtin_bswap64(word) >> in.count;
  in.next += (63 - in.count) >> 3;
  in.count |= 56;
}

/// A value's bits at the upper end of `bits`, 63 - shift of them: those that begin with 0 stand for negative numbers.
HWY_INLINE int jpeg_value(uint64_t bits, uint32_t shift) {
  const uint64_t flip = ~static_cast<uint64_t>(static_cast<int64_t>(bits) >> 63);
  const uint64_t magnitude = (bits ^ flip) >> 1 >> shift;
  return static_cast<int>(magnitude ^ flip) - static_cast<int>(flip);
}

/// The code at the upper end of `bits`, longer than `known` bits: its length times 256 and its symbol; 0: none. Apart
/// from the rest, which needs the registers.
HWY_NOINLINE uint32_t find_long_code(const JpegLongCodes& codes, int known, uint64_t bits) {
  const auto code = static_cast<uint32_t>(bits >> 48);
  for (int n = known + 1; n <= kJpegLongestCode; ++n)
    if (code < codes.limit[n])
      return static_cast<uint32_t>(n) << 8 |
             codes.symbols[(static_cast<int32_t>(code >> (16 - n)) + codes.offset[n]) & 0xFF];
  return 0;
}

/// A code that is not in the table: reads it and its value, stores that and goes on to the next place.
HWY_INLINE bool decode_longer(JpegBits& in, const JpegAcTable& ac, uint32_t& k, int16_t* block) {
  const uint32_t found = find_long_code(ac.longer, 0, in.bits);
  if (found == 0) return false;
  const uint32_t length = found >> 8, size = found & 15, zeros = found >> 4 & 15;
  k += size != 0 || zeros == 15 ? zeros + 1 : kJpegEndOfBlock;
  block[kJpegPlaces[k - 1]] = static_cast<int16_t>(jpeg_value(in.bits << length, 63 - size));
  in.bits <<= length + size;
  in.count -= length + size;
  return true;
}

/// Of a place beyond the block: whether its last coefficient was the last one, or a code ended it.
HWY_INLINE bool is_end_of_block(uint32_t k) { return k - 65 >= kJpegEndOfBlock - 65; }

/// `in` has the bits of a code at least, before and after.
HWY_INLINE bool decode_jpeg_block(JpegBits& in, const JpegDcTable& dc, const JpegAcTable& ac, int& prediction,
                                  int16_t* block) {
  {
    const JpegDcCode code = dc.codes[in.bits >> (64 - kJpegDcBits)];
    fill_jpeg_bits(in);
    uint32_t length = code.bits, size = code.size;
    if (HWY_UNLIKELY(length == 0)) {
      const uint32_t found = find_long_code(dc.longer, kJpegDcBits, in.bits);
      if (found == 0) return false;
      length = found >> 8, size = found & 15;
    }
    prediction += jpeg_value(in.bits << length, 63 - size);
    if (HWY_UNLIKELY(prediction != static_cast<int16_t>(prediction))) return false;
    block[0] = static_cast<int16_t>(prediction);
    in.bits <<= length + size;
    in.count -= length + size;
  }
  // Filled, there are 56 bits, enough for two codes with their values, and the third's code is there before bits are
  // filled in again, which nothing then waits for.
  static_assert(56 - kJpegMostAcBits >= 31 && 56 - 2 * kJpegMostAcBits >= kJpegLongestCode);
  constexpr int kPerFill = 2;
  for (uint32_t k = 1;;) {
#pragma GCC unroll 2
    for (int i = 0; i < kPerFill; ++i) {
      const JpegAcCode& code = ac.codes[in.bits >> (64 - kJpegAcBits)];
      if (i == 0) fill_jpeg_bits(in);
      const uint32_t bits = code.bits;
      if (HWY_UNLIKELY(bits == 0)) {
        if (!decode_longer(in, ac, k, block)) return false;
        fill_jpeg_bits(in);
        if (k >= 64) return is_end_of_block(k);
        break;
      }
      // The second is written first: where the first ends the block, it is the next block's, and where there is none,
      // a zero goes to where a zero is.
      const uint8_t* const places = kJpegPlaces.data() + k;
      block[places[code.second_place]] = code.second_value;
      block[places[code.first_run - 1]] = static_cast<int16_t>(jpeg_value(in.bits << code.code_bits, code.shift));
      const uint32_t first = k + code.first_run;
      k += code.run;
      if (k >= 64) {  // no branches here: whether the first or the second ends the block is as good as random
        const uint32_t by_first = 0 - static_cast<uint32_t>(first >= 64);
        const uint32_t used = bits ^ ((bits ^ code.first_bits) & by_first);
        in.bits <<= used;
        in.count -= used;
        return is_end_of_block(k ^ ((k ^ first) & by_first));
      }
      in.bits <<= bits;
      in.count -= bits;
    }
  }
}

bool decode_jpeg_run(JpegBits& bits, JpegScanPart* parts, int part_count, int64_t first, int64_t count) {
  JpegBits in = bits;
  fill_jpeg_bits(in);
  for (int64_t mcu = first; mcu < first + count; ++mcu) {
    for (JpegScanPart* part = parts; part < parts + part_count; ++part) {
      for (int y = 0; y < part->down; ++y) {
        int16_t* const row = part->coefficients + y * part->row_stride;
        const auto left = static_cast<uint64_t>(mcu * part->across);
        for (uint64_t x = left; x < left + static_cast<uint64_t>(part->across); ++x) {
          int16_t* const block = row + x / kJpegGroup * kJpegGroupSize + x % kJpegGroup * 8;
          if (!decode_jpeg_block(in, *part->dc, *part->ac, part->prediction, block)) return false;
        }
      }
    }
    if (HWY_UNLIKELY(in.next > in.end + sizeof(uint64_t))) return false;
  }
  bits = in;
  return true;
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(decode_jpeg_run);

bool decode_jpeg_mcus(JpegBits& bits, JpegScanPart* parts, int part_count, int64_t first, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(decode_jpeg_run)(bits, parts, part_count, first, count);
}

void lay_out_jpeg_steps(const uint16_t* zigzag, int16_t* group) {
  for (size_t k = 0; k < 64; ++k)
    for (int block = 0; block < kJpegGroup; ++block)
      group[kJpegPlaces[k] + 8 * block] = static_cast<int16_t>(zigzag[k]);
}

}  // namespace dptrain::kernels::cpu
#endif
