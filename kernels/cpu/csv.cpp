#include "kernels/cpu/csv.h"

#include <bit>
#include <cstring>
#include <limits>

#define HWY_TARGET_INCLUDE "kernels/cpu/csv.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

static_assert(std::endian::native == std::endian::little);

using Text = hn::CappedTag<uint8_t, 64>;
inline constexpr Text kText{};
inline constexpr size_t kTextLanes = hn::MaxLanes(kText);
inline constexpr size_t kPiece = 64;

HWY_INLINE uint64_t mask_bits(hn::Mask<Text> mask) {
  uint64_t bits = 0;
  uint8_t bytes[8] = {};
  static_cast<void>(hn::StoreMaskBits(kText, mask, bytes));
  std::memcpy(&bits, bytes, (kTextLanes + 7) / 8);
  return bits;
}

/// Writes the positions of the set bits, eight at a time: about as many as a piece has marks, without a branch per bit.
HWY_INLINE uint32_t* write_places(uint64_t bits, uint32_t base, uint32_t* to) {
  const int count = std::popcount(bits);
  for (int done = 0; done < count; done += 8)
    for (int i = 0; i < 8; ++i) {
      // No bit left: countr_zero is 64, and the next piece overwrites the entry.
      to[done + i] = base + static_cast<uint32_t>(std::countr_zero(bits));
      bits &= bits - 1;
    }
  return to + count;
}

CsvMarks find_marks(const char* text, size_t n, char separator, uint32_t* places, uint32_t* line_feeds) {
  const auto apart = hn::Set(kText, static_cast<uint8_t>(separator)), feed = hn::Set(kText, uint8_t{'\n'}),
             back = hn::Set(kText, uint8_t{'\r'}), quote = hn::Set(kText, uint8_t{'"'});
  auto all = hn::Zero(kText), least = hn::Set(kText, uint8_t{0xFF});
  uint64_t any_quote = 0, any_back = 0;
  uint32_t* to = places;
  uint32_t* feed_to = line_feeds;
  const auto piece = [&](const uint8_t* from, uint32_t base, uint64_t valid) HWY_ATTR {
    uint64_t bits = 0, feeds = 0;
    for (size_t part = 0; part < kPiece; part += kTextLanes) {
      const auto v = hn::LoadU(kText, from + part);
      all = hn::Or(all, v);
      least = hn::Min(least, v);
      const auto is_feed = hn::Eq(v, feed), is_back = hn::Eq(v, back), is_quote = hn::Eq(v, quote);
      const uint64_t feeds_here = mask_bits(is_feed), quotes_here = mask_bits(is_quote),
                     backs_here = mask_bits(is_back);
      any_quote |= quotes_here;
      any_back |= backs_here;
      feeds |= feeds_here << part;
      bits |= (mask_bits(hn::Eq(v, apart)) | feeds_here | backs_here | quotes_here) << part;
    }
    bits &= valid;
    feeds &= valid;
    const auto before = static_cast<uint32_t>(to - places);
    for (; feeds != 0; feeds &= feeds - 1) {
      const uint64_t below = (feeds & (~feeds + 1)) - 1;
      *feed_to++ = before + static_cast<uint32_t>(std::popcount(bits & below));
    }
    to = write_places(bits, base, to);
  };
  size_t at = 0;
  for (; at + kPiece <= n; at += kPiece)
    piece(reinterpret_cast<const uint8_t*>(text) + at, static_cast<uint32_t>(at), ~uint64_t{0});
  if (at < n) {
    uint8_t rest[kPiece];
    std::memset(rest, ' ', kPiece);
    std::memcpy(rest, text + at, n - at);
    piece(rest, static_cast<uint32_t>(at), ~uint64_t{0} >> (kPiece - (n - at)));
  }
  const bool zeros = !hn::AllFalse(kText, hn::Eq(least, hn::Zero(kText)));
  const auto top = hn::Set(kText, uint8_t{0x80});
  const bool high = !hn::AllFalse(kText, hn::Eq(hn::And(all, top), top));
  return {static_cast<size_t>(to - places),
          static_cast<size_t>(feed_to - line_feeds),
          any_quote != 0,
          any_back != 0,
          zeros,
          high};
}

bool find_byte(const char* text, size_t n, char byte) {
  const auto wanted = hn::Set(kText, static_cast<uint8_t>(byte));
  const auto* const from = reinterpret_cast<const uint8_t*>(text);
  size_t at = 0;
  for (; at + 4 * kTextLanes <= n; at += 4 * kTextLanes) {
    const auto a =
        hn::Or(hn::Eq(hn::LoadU(kText, from + at), wanted), hn::Eq(hn::LoadU(kText, from + at + kTextLanes), wanted));
    const auto b = hn::Or(hn::Eq(hn::LoadU(kText, from + at + 2 * kTextLanes), wanted),
                          hn::Eq(hn::LoadU(kText, from + at + 3 * kTextLanes), wanted));
    if (!hn::AllFalse(kText, hn::Or(a, b))) return true;
  }
  return n > at && std::memchr(text + at, byte, n - at) != nullptr;
}

/// 1 or 0, by arithmetic: a flag in the low byte of a register would depend on the number before.
HWY_INLINE uint32_t is_minus(char c) { return ((static_cast<uint32_t>(static_cast<uint8_t>(c)) ^ '-') - 1) >> 31; }

/// digits * power, a negative power of ten, as a float; false if the result may not be the nearest float.
HWY_INLINE bool to_float(uint64_t digits, double power, uint32_t negative, float* out) {
  // Digits of up to 53 bits are an exact double. The power and the product are each off by at most half an ulp,
  // together by less than two ulps of the product. If no midpoint between two floats is that near, rounding the product
  // gives the nearest float. (No float here is subnormal.)
  constexpr uint32_t kNear = 4, kMidpoint = 1U << 28, kBelowFloat = (1U << 29) - 1;
  const double magnitude = static_cast<double>(static_cast<int64_t>(digits)) * power;
  const auto below = static_cast<uint32_t>(std::bit_cast<uint64_t>(magnitude)) & kBelowFloat;
  if ((below - (kMidpoint - kNear) <= 2 * kNear) | (digits >> 53 != 0)) return false;
  // Without a branch: signs are unpredictable.
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(magnitude)) | (negative << 31);
  std::memcpy(out, &bits, sizeof bits);
  return true;
}

#if HWY_TARGET != HWY_SCALAR

using Digits = hn::Full128<uint8_t>;
inline constexpr Digits kDigits{};

/// Shuffles that remove the point from sixteen characters: those before it move up by one. The last is the identity.
struct Closing {
  alignas(16) uint8_t rows[17][16];
  constexpr Closing() : rows{} {
    for (size_t point = 0; point <= 16; ++point)
      for (size_t i = 0; i < 16; ++i)
        rows[point][i] = static_cast<uint8_t>(point == 16 || i > point ? i : i == 0 ? 0x80 : i - 1);
  }
};
constexpr Closing kClosing;
/// Bytes [n, n + 16) are 16 - n zeros and n ones.
alignas(64) constexpr uint8_t kKept[32] = {0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                                           0,    0,    0,    0,    0,    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                           0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
/// Indexed by the position of the point in sixteen characters; 16: no point.
constexpr double kPowers[17] = {1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7,
                                1e-6,  1e-5,  1e-4,  1e-3,  1e-2,  1e-1,  1e0,  1e0};

/// Parses sixteen characters at once; the only branch on their values is the last one.
HWY_INLINE bool short_decimal(const char* begin, const char* end, float* out) {
  const hn::Repartition<uint16_t, Digits> pairs;
  const hn::Repartition<uint32_t, Digits> fours;
  const hn::Repartition<uint64_t, Digits> eights;
  const uint32_t negative = is_minus(*begin);
  const auto length = static_cast<size_t>(end - begin) - negative;
  if (length - 1 > 15) return false;
  const auto text = hn::LoadU(kDigits, reinterpret_cast<const uint8_t*>(end) - 16);
  const auto kept = hn::LoadU(kDigits, kKept + length);
  const auto values = hn::And(hn::Xor(text, hn::Set(kDigits, uint8_t{'0'})), kept);
  uint8_t bytes[8] = {};
  uint32_t points = 0;
  static_cast<void>(hn::StoreMaskBits(kDigits, hn::Eq(values, hn::Set(kDigits, uint8_t{'.' ^ '0'})), bytes));
  std::memcpy(&points, bytes, 2);
  const auto point = static_cast<size_t>(std::countr_zero(points | 1U << 16));
  const auto digits = hn::TableLookupBytesOr0(values, hn::Load(kDigits, kClosing.rows[point]));
  const bool no_digits = !hn::AllTrue(kDigits, hn::Eq(hn::Min(digits, hn::Set(kDigits, uint8_t{9})), digits));
  // Each step combines neighbours: (a + 256 b) * (10 * 256 + 1) has 10 a + b in its upper half, and so on.
  const auto two = hn::ShiftRight<8>(hn::Mul(hn::BitCast(pairs, digits), hn::Set(pairs, uint16_t{10 * 256 + 1})));
  const auto four = hn::ShiftRight<16>(hn::Mul(hn::BitCast(fours, two), hn::Set(fours, uint32_t{100 * 65536 + 1})));
  const auto all = hn::BitCast(eights, four);
  const auto eight = hn::Add(hn::MulEven(four, hn::Set(fours, uint32_t{10000})), hn::ShiftRight<32>(all));
  const uint64_t number = hn::ExtractLane(eight, 0) * 100000000 + hn::ExtractLane(eight, 1);
  if (no_digits || (length == 1 && point != 16)) return false;
  return to_float(number, kPowers[point], negative, out);
}

#else

// Eight characters at a time in a 64-bit word, the first one in the lowest byte.

constexpr uint64_t kEach = 0x0101010101010101;
constexpr uint64_t kPoint = ('.' ^ '0') * kEach;
constexpr double kTenths[] = {1e0,  1e-1, 1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,
                              1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15};

HWY_INLINE uint64_t load_word(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

/// Eight digits, as bytes 0 to 9, to a number.
HWY_INLINE uint64_t eight_digits(uint64_t x) {
  x = (x * 10 + (x >> 8)) & 0x00FF00FF00FF00FF;
  x = (x * 100 + (x >> 16)) & 0x0000FFFF0000FFFF;
  return (x * 10000 + (x >> 32)) & 0xFFFFFFFF;
}

/// Sets the highest bit of the first byte that is a point; bytes after it may be marked too.
HWY_INLINE uint64_t first_point(uint64_t x) {
  const uint64_t t = x ^ kPoint;
  return (t - kEach) & ~t & (0x80 * kEach);
}

HWY_INLINE bool no_digits(uint64_t x) { return (((x + 0x76 * kEach) | x) & (0x80 * kEach)) != 0; }

HWY_INLINE bool short_decimal(const char* begin, const char* end, float* out) {
  const uint32_t negative = is_minus(*begin);
  begin += negative;
  const auto length = static_cast<size_t>(end - begin);
  if (length - 1 > 15) return false;
  uint64_t high = load_word(end - 8) ^ ('0' * kEach);
  uint32_t fraction = 0;
  if (length <= 8) {
    const auto gone = static_cast<uint32_t>(64 - 8 * length);
    high = high >> gone << gone;
    uint64_t point = first_point(high);
    if (point != 0) {
      if (length == 1) return false;
      point &= ~point + 1;
      fraction = 7 - static_cast<uint32_t>(std::countr_zero(point)) / 8;
      const uint64_t before = (point >> 7) - 1;
      high = (high & ~((point << 1) - 1)) | ((high & before) << 8);
    }
    if (no_digits(high)) return false;
    return to_float(eight_digits(high), kTenths[fraction], negative, out);
  }
  const auto gone = static_cast<uint32_t>(128 - 8 * length);
  uint64_t low = load_word(end - 16) ^ ('0' * kEach);
  low = low >> gone << gone;
  if (uint64_t point = first_point(low); point != 0) {
    point &= ~point + 1;
    fraction = 15 - static_cast<uint32_t>(std::countr_zero(point)) / 8;
    const uint64_t before = (point >> 7) - 1;
    low = (low & ~((point << 1) - 1)) | ((low & before) << 8);
  } else if (point = first_point(high); point != 0) {
    point &= ~point + 1;
    fraction = 7 - static_cast<uint32_t>(std::countr_zero(point)) / 8;
    const uint64_t before = (point >> 7) - 1;
    high = (high & ~((point << 1) - 1)) | ((high & before) << 8) | (low >> 56);
    low <<= 8;
  }
  if (no_digits(low) || no_digits(high)) return false;
  const uint64_t digits = eight_digits(low) * 100000000 + eight_digits(high);
  return to_float(digits, kTenths[fraction], negative, out);
}

#endif

size_t decimals(const CsvFields& in, const CsvColumns& columns, bool empty_is_nan, float* out, size_t stride,
                uint32_t* left) {
  // Copies: the compiler must assume that storing a float may change what it reads by reference.
  const char* const text = in.text;
  const uint32_t *const fields = columns.field, *const slots = columns.slot;
  const size_t count = columns.count;
  uint32_t* to = left;
  const uint32_t* ends = in.ends;
  float* cells = out;
  for (size_t row = 0; row < in.rows; ++row, ends += in.fields, cells += stride)
    for (size_t c = 0; c < count; ++c) {
      const size_t field = fields[c];
      const uint32_t begin = field == 0 ? in.begins[row] : ends[field - 1] + 1, end = ends[field];
      float* const cell = cells + slots[c];
      if (short_decimal(text + begin, text + end, cell)) continue;
      if (begin == end && empty_is_nan)
        *cell = std::numeric_limits<float>::quiet_NaN();
      else
        *to++ = static_cast<uint32_t>(row * count + c);
    }
  return static_cast<size_t>(to - left);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(find_marks);
HWY_EXPORT(find_byte);
HWY_EXPORT(decimals);

CsvMarks find_csv_marks(const char* text, size_t n, char separator, uint32_t* places, uint32_t* line_feeds) {
  return HWY_DYNAMIC_DISPATCH(find_marks)(text, n, separator, places, line_feeds);
}
bool has_byte(const char* text, size_t n, char byte) { return HWY_DYNAMIC_DISPATCH(find_byte)(text, n, byte); }
size_t short_decimals(const CsvFields& in, const CsvColumns& columns, bool empty_is_nan, float* out, size_t stride,
                      uint32_t* left) {
  return HWY_DYNAMIC_DISPATCH(decimals)(in, columns, empty_is_nan, out, stride, left);
}

}  // namespace dptrain::kernels::cpu
#endif
