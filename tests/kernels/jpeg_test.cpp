#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <random>
#include <vector>

#include "kernels/cpu/jpeg_pixels.h"
#include "kernels/cpu/jpeg_scan.h"
#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::on_every_target;

/// Where coefficient (row, column) of a block lies in its group.
size_t place_in_group(size_t block, size_t row, size_t column) { return row * 32 + block * 8 + column; }

template <class T>
struct alignas(64) Group {
  std::array<T, kJpegGroupSize> numbers{};
};

uint8_t byte_of(double value) { return static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L)); }

/// The definition, in double.
std::array<double, 64> transformed(const std::array<double, 64>& coefficients) {
  std::array<double, 64> samples{};
  for (size_t y = 0; y < 8; ++y)
    for (size_t x = 0; x < 8; ++x)
      for (size_t v = 0; v < 8; ++v)
        for (size_t u = 0; u < 8; ++u) {
          const auto basis = [](size_t at, size_t frequency) {
            return (frequency == 0 ? std::numbers::sqrt2 / 2 : 1.0) *
                   std::cos(static_cast<double>((2 * at + 1) * frequency) * std::numbers::pi / 16);
          };
          samples[8 * y + x] += coefficients[8 * v + u] * basis(x, u) * basis(y, v) / 4;
        }
  return samples;
}

TEST(JpegKernels, InverseTransform) {
  constexpr int64_t kGroups = 3, kStride = kGroups * 32;
  std::mt19937 random(1);
  std::vector<Group<int16_t>> groups(kGroups);
  Group<int16_t> steps;
  for (size_t row = 0; row < 8; ++row)
    for (size_t column = 0; column < 8; ++column) {
      const auto step = static_cast<int16_t>(1 + random() % 20);
      for (size_t block = 0; block < 4; ++block) steps.numbers[place_in_group(block, row, column)] = step;
    }
  std::vector<uint8_t> expected(8 * kStride);
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t block = 0; block < 4; ++block) {
      std::array<double, 64> coefficients{};
      // From one coefficient to all of them.
      for (size_t k = 0; k < 64; ++k) {
        const size_t at = place_in_group(block, k / 8, k % 8);
        if (random() % 64 > 16 * (g + block)) continue;
        groups[g].numbers[at] = static_cast<int16_t>(static_cast<int>(random() % 21) - 10);
        coefficients[k] = groups[g].numbers[at] * steps.numbers[at];
      }
      const std::array<double, 64> samples = transformed(coefficients);
      for (size_t k = 0; k < 64; ++k)
        expected[k / 8 * kStride + 32 * g + 8 * block + k % 8] = byte_of(samples[k] + 128);
    }
  std::vector<uint8_t> first;
  on_every_target([&] {
    const std::vector<uint8_t> found = test::written<uint8_t>(8 * kStride, 99, [&](uint8_t* out) {
      EXPECT_TRUE(jpeg_inverse_dct(groups[0].numbers.data(), kGroups, steps.numbers.data(), out, kStride));
    });
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], expected[i], 1) << "sample " << i;  // constants of 13 bits, rounded twice
    if (first.empty()) first = found;
    EXPECT_EQ(found, first) << "bits depend on the instruction set";
  });
}

TEST(JpegKernels, FirstRowsBeyondSixteenBitsAreTold) {
  Group<int16_t> coefficients, steps;
  steps.numbers.fill(100);
  std::vector<uint8_t> out(8 * 32);
  for (const auto& [value, within] : {std::pair{81, true}, std::pair{-81, true}, std::pair{82, false}, {-82, false}}) {
    coefficients.numbers[place_in_group(2, 0, 5)] = static_cast<int16_t>(value);
    on_every_target([&] {
      EXPECT_EQ(jpeg_inverse_dct(coefficients.numbers.data(), 1, steps.numbers.data(), out.data(), 32), within);
    });
  }
}

std::vector<uint8_t> bytes_with_room(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(static_cast<size_t>(n + 2 * kJpegRowPad));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % 4 == 0 ? random() % 2 * 255 : random());
  return bytes;
}

TEST(JpegKernels, DoubledRows) {
  for (const int64_t n : {1, 2, 7, 31, 32, 33, 100}) {
    const std::vector<uint8_t> near_row = bytes_with_room(n, 1), far_row = bytes_with_room(n, 2);
    const uint8_t* const near = near_row.data() + kJpegRowPad;
    const uint8_t* const far = far_row.data() + kJpegRowPad;
    std::vector<uint8_t> along(static_cast<size_t>(2 * n)), between(static_cast<size_t>(2 * n));
    for (int64_t i = 0; i < 2 * n; ++i) {
      const int64_t here = i / 2, beside = i % 2 == 0 ? here - 1 : here + 1;
      const auto column = [&](int64_t at) { return 3 * near[at] + far[at]; };
      along[static_cast<size_t>(i)] = static_cast<uint8_t>((3 * near[here] + near[beside] + 1 + i % 2) / 4);
      between[static_cast<size_t>(i)] = static_cast<uint8_t>((3 * column(here) + column(beside) + 8 - i % 2) / 16);
    }
    on_every_target([&] {
      EXPECT_EQ(test::written<uint8_t>(2 * n, 7, [&](uint8_t* out) { jpeg_double_row(near, n, out); }), along);
      EXPECT_EQ(test::written<uint8_t>(2 * n, 7, [&](uint8_t* out) { jpeg_double_rows(near, far, n, out); }), between);
    });
  }
}

TEST(JpegKernels, ColorsAreTheNearestToTheEquations) {
  for (const int64_t n : {1, 3, 63, 64, 65, 2000})
    for (const int channels : {3, 4}) {
      const std::vector<uint8_t> y = bytes_with_room(n, 3), cb = bytes_with_room(n, 4), cr = bytes_with_room(n, 5);
      std::vector<uint8_t> first;
      on_every_target([&] {
        const std::vector<uint8_t> found = test::written<uint8_t>(
            n * channels, 7, [&](uint8_t* out) { jpeg_color_row(y.data(), cb.data(), cr.data(), n, channels, out); });
        for (int64_t i = 0; i < n; ++i) {
          const auto at = static_cast<size_t>(i), to = at * static_cast<size_t>(channels);
          const double luma = y[at], blue = cb[at] - 128.0, red = cr[at] - 128.0;
          ASSERT_NEAR(found[to], byte_of(luma + 1.402 * red), 1);
          ASSERT_NEAR(found[to + 1], byte_of(luma - 0.344136 * blue - 0.714136 * red), 1);
          ASSERT_NEAR(found[to + 2], byte_of(luma + 1.772 * blue), 1);
          ASSERT_TRUE(channels == 3 || found[to + 3] == 255);
        }
        if (first.empty()) first = found;
        EXPECT_EQ(found, first) << "bits depend on the instruction set";
      });
    }
}

/// Bits one behind the other.
class BitWriter {
 public:
  void put(unsigned bits, int count) {
    for (int i = count - 1; i >= 0; --i, ++size_) {
      if (size_ % 8 == 0) bytes_.push_back(0);
      if ((bits >> i & 1) != 0) bytes_.back() = static_cast<uint8_t>(bytes_.back() | 1 << (7 - size_ % 8));
    }
  }
  /// As the format has it: negative numbers less one, without their sign.
  void put_value(int value, int size) { put(static_cast<unsigned>(value < 0 ? value + (1 << size) - 1 : value), size); }
  size_t bits() const { return size_; }
  std::vector<uint8_t> padded() const {
    std::vector<uint8_t> bytes = bytes_;
    bytes.resize(bytes.size() + kJpegScanPad, 0xAA);
    return bytes;
  }

 private:
  std::vector<uint8_t> bytes_;
  size_t size_ = 0;
};

int size_of(int value) {
  int size = 0;
  for (int left = std::abs(value); left > 0; left >>= 1) ++size;
  return size;
}

/// Each symbol has two codes: its number + 1 in 9 bits, which the tables look up, and one of 16, which they do not
/// have.
class Tables {
 public:
  enum class Use { kShort, kLong, kBoth /*in turns*/ };

  explicit Tables(Use use) : use_(use) {
    for (JpegLongCodes* codes : {&dc->longer, &ac->longer}) {
      for (int i = 0; i < 256; ++i) codes->symbols[i] = static_cast<uint8_t>(i);
      codes->limit[kShort] = kFirstLong, codes->offset[kShort] = -1;
      codes->limit[kLong] = kFirstLong + 256, codes->offset[kLong] = -static_cast<int>(kFirstLong);
    }
    for (uint32_t symbol = 0; symbol < 256; ++symbol) {
      const auto size = static_cast<uint8_t>(symbol % 16), zeros = static_cast<uint8_t>(symbol / 16);
      if (symbol < 16) dc->codes[(symbol + 1) << (kJpegDcBits - kShort)] = {kShort, size};
      if (kShort + size > kJpegMostAcBits) continue;
      const auto run = static_cast<uint8_t>(size != 0 || zeros == 15 ? zeros + 1 : kJpegEndOfBlock);
      const auto all = static_cast<uint8_t>(kShort + size), shift = static_cast<uint8_t>(63 - size);
      for (uint32_t i = 0; i < 1U << (kJpegAcBits - kShort); ++i)
        ac->codes[(symbol + 1) << (kJpegAcBits - kShort) | i] = {all, all, kShort, shift, run, run, run, 0};
    }
  }

  void put(BitWriter& to, int zeros, int value) {
    const auto symbol = static_cast<unsigned>(zeros * 16 + size_of(value));
    const bool as_long = use_ == Use::kLong || (use_ == Use::kBoth && ++turn_ % 2 == 0);
    as_long ? to.put(kFirstLong + symbol, kLong) : to.put(symbol + 1, kShort);
    to.put_value(value, size_of(value));
  }

  std::unique_ptr<JpegDcTable> dc = std::make_unique<JpegDcTable>();
  std::unique_ptr<JpegAcTable> ac = std::make_unique<JpegAcTable>();

 private:
  static constexpr int kShort = 9, kLong = 16;
  static constexpr uint32_t kFirstLong = 257U << (kLong - kShort);

  Use use_;
  int turn_ = 0;
};

constexpr std::array<uint8_t, 64> kZigzag{0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                          12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                          35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                          58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/// Writes random blocks, and what must come of them.
void write_blocks(Tables& tables, size_t count, BitWriter& to, std::vector<Group<int16_t>>& groups) {
  std::mt19937 random(static_cast<unsigned>(count) + 11);
  int before = 0;
  for (size_t b = 0; b < count; ++b) {
    std::array<int, 64> block{};
    const uint_fast32_t density = random() % 5;
    for (int& value : block) {
      const uint_fast32_t most = (uint_fast32_t{1} << (random() % 16)) - 1;
      if (random() % 5 < density) value = static_cast<int>(random() % (2 * most + 1)) - static_cast<int>(most);
    }
    block[0] = static_cast<int>(random() % 4096) - 2048;
    tables.put(to, 0, block[0] - before);
    before = block[0];
    int zeros = 0;
    for (size_t k = 1; k < 64; ++k) {
      if (block[k] == 0) {
        ++zeros;
        continue;
      }
      for (; zeros > 15; zeros -= 16) tables.put(to, 15, 0);
      tables.put(to, zeros, block[k]);
      zeros = 0;
    }
    if (zeros > 0) tables.put(to, 0, 0);
    for (size_t k = 0; k < 64; ++k)
      groups[b / 4].numbers[place_in_group(b % 4, kZigzag[k] / 8, kZigzag[k] % 8)] = static_cast<int16_t>(block[k]);
  }
}

TEST(JpegKernels, ScansOfShortAndOfLongCodes) {
  for (const Tables::Use use : {Tables::Use::kShort, Tables::Use::kLong, Tables::Use::kBoth}) {
    Tables tables(use);
    constexpr size_t kBlocks = 400, kGroups = 100;
    BitWriter writer;
    std::vector<Group<int16_t>> expected(kGroups);
    write_blocks(tables, kBlocks, writer, expected);
    const std::vector<uint8_t> bytes = writer.padded();
    on_every_target([&] {
      std::vector<Group<int16_t>> found(kGroups);
      JpegScanPart part{tables.dc.get(), tables.ac.get(), found[0].numbers.data(), kGroups * kJpegGroupSize, 1, 1, 0};
      JpegBits in{.next = bytes.data(), .end = bytes.data() + bytes.size() - kJpegScanPad};
      ASSERT_TRUE(decode_jpeg_mcus(in, &part, 1, 0, 20));
      ASSERT_TRUE(decode_jpeg_mcus(in, &part, 1, 20, kBlocks - 20));
      EXPECT_EQ(8 * static_cast<size_t>(in.next - bytes.data()) - in.count, writer.bits());
      for (size_t g = 0; g < kGroups; ++g) ASSERT_EQ(found[g].numbers, expected[g].numbers) << "group " << g;
    });
  }
}

TEST(JpegKernels, ScansThatAreNoneAreRefused) {
  Tables tables(Tables::Use::kShort);
  const auto decodes = [&](const BitWriter& writer, int64_t blocks) {
    const std::vector<uint8_t> bytes = writer.padded();
    std::vector<Group<int16_t>> room(64);
    bool decoded = false;
    on_every_target([&] {
      JpegScanPart part{tables.dc.get(), tables.ac.get(), room[0].numbers.data(), 0, 1, 1, 0};
      JpegBits in{.next = bytes.data(), .end = bytes.data() + bytes.size() - kJpegScanPad};
      decoded = decode_jpeg_mcus(in, &part, 1, 0, blocks);
    });
    return decoded;
  };
  BitWriter sound, no_code, too_many, too_large;
  tables.put(sound, 0, 5), tables.put(sound, 0, 0);
  EXPECT_TRUE(decodes(sound, 1));
  EXPECT_FALSE(decodes(sound, 200)) << "beyond the end";
  tables.put(no_code, 0, 5), no_code.put(0x1FF, 9);
  EXPECT_FALSE(decodes(no_code, 1));
  tables.put(too_many, 0, 5);
  for (int i = 0; i < 5; ++i) tables.put(too_many, 14, 1);
  EXPECT_FALSE(decodes(too_many, 1)) << "75 coefficients";
  for (int i = 0; i < 3; ++i) tables.put(too_large, 0, 16000), tables.put(too_large, 0, 0);
  EXPECT_FALSE(decodes(too_large, 3)) << "a DC coefficient of 48,000";
}

}  // namespace
}  // namespace dptrain::kernels::cpu
