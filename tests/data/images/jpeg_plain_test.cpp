// The decoder of JPEGs of the usual kind against libjpeg: the same pixels or none.

#include "data/images/jpeg/jpeg_plain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "data/image_files.h"
#include "support/tier.h"

namespace dptrain::data {
namespace {

/// Between smooth and noise: `noise` 0..255 on top of a gradient, so that blocks end early and late.
Picture speckled(std::int64_t height, std::int64_t width, int noise, int channels = 3) {
  Picture picture = gradient(height, width, channels);
  std::mt19937 random(static_cast<unsigned>(height * 1000 + width + noise));
  for (std::uint8_t& pixel : picture.pixels) {
    const int more = noise == 0 ? 0 : static_cast<int>(random() % static_cast<unsigned>(2 * noise)) - noise;
    pixel = static_cast<std::uint8_t>(std::clamp(pixel + more, 0, 255));
  }
  return picture;
}

/// What a decoder makes of a file; nothing where it refuses.
std::optional<Array> through_libjpeg(const Bytes& file, const DecodeOptions& options) {
  Array out;
  out.type = DType::kU8;
  try {
    decode_any_jpeg(file, options, out);
  } catch (const ImageError&) {
    return std::nullopt;
  }
  return out;
}

std::optional<Array> plainly(const Bytes& file, const DecodeOptions& options) {
  Array out;
  out.type = DType::kU8;
  // A copy as long as the file, so that a byte read beyond it is seen.
  if (!decode_plain_jpeg(Bytes(file), options, out)) return std::nullopt;
  return out;
}

void expect_same(const Bytes& file, const DecodeOptions& options) {
  const std::optional<Array> found = plainly(file, options), expected = through_libjpeg(file, options);
  ASSERT_TRUE(expected.has_value());
  ASSERT_TRUE(found.has_value()) << "left to libjpeg";
  ASSERT_EQ(found->shape, expected->shape);
  ASSERT_TRUE(found->u8 == expected->u8) << "other pixels";
}

struct Sampling {
  const char* name;
  bool subsampled, subsampled_rows;
};
constexpr Sampling kSamplings[] = {{"444", false, false}, {"422", true, false}, {"420", true, true}};

JpegKind kind_of(const Sampling& sampling, int quality, int restart_interval = 0) {
  JpegKind kind;
  kind.quality = quality;
  kind.restart_interval = restart_interval;
  kind.subsampled = sampling.subsampled;
  kind.subsampled_rows = sampling.subsampled_rows;
  return kind;
}

TEST(PlainJpeg, PixelsAreThoseOfLibjpeg) {
  constexpr std::int64_t kSizes[][2] = {{1, 5},   {5, 7},   {8, 8},    {7, 9},    {16, 16}, {17, 33},
                                        {33, 17}, {64, 48}, {40, 131}, {100, 37}, {1, 300}, {300, 6}};
  for (const Sampling& sampling : kSamplings)
    for (const auto& [height, width] : kSizes)
      for (const int quality : {5, 30, 75, 95, 100})
        for (const int noise : {0, 10, 120})
          for (const ColorMode color : {ColorMode::kRgb, ColorMode::kRgba, ColorMode::kGrayscale}) {
            SCOPED_TRACE(testing::Message() << sampling.name << ' ' << height << " x " << width << " quality "
                                            << quality << " noise " << noise);
            expect_same(jpeg_bytes(speckled(height, width, noise), kind_of(sampling, quality)), {.color = color});
            if (HasFatalFailure()) return;
          }
}

TEST(PlainJpeg, GrayToo) {
  for (const auto& [height, width] : {std::pair{1, 1}, std::pair{7, 9}, std::pair{50, 61}})
    for (const int quality : {5, 50, 100})
      for (const ColorMode color : {ColorMode::kRgb, ColorMode::kRgba, ColorMode::kGrayscale}) {
        JpegKind kind;
        kind.space = JCS_GRAYSCALE;
        kind.quality = quality;
        expect_same(jpeg_bytes(speckled(height, width, 60, 1), kind), {.color = color});
      }
}

TEST(PlainJpeg, RestartIntervals) {
  for (const Sampling& sampling : kSamplings)
    for (const int interval : {1, 2, 5, 7, 100})
      expect_same(jpeg_bytes(speckled(50, 200, 40), kind_of(sampling, 90, interval)), {});
}

TEST(PlainJpeg, Orientations) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    JpegKind kind;
    kind.orientation = orientation;
    const Bytes file = jpeg_bytes(speckled(40, 70, 30), kind);
    expect_same(file, {});
    expect_same(file, {.rotate = false});
  }
}

TEST(PlainJpeg, APartHasThePixelsOfTheWhole) {
  constexpr Window kParts[] = {{0, 0, 1, 1},    {10, 20, 30, 40}, {33, 47, 17, 1}, {15, 31, 2, 99},
                               {79, 0, 11, 13}, {0, 100, 90, 30}, {16, 64, 16, 16}};
  for (const Sampling& sampling : kSamplings)
    for (const int interval : {0, 3})
      for (const Window& part : kParts)
        for (const ColorMode color : {ColorMode::kRgb, ColorMode::kGrayscale}) {
          const Bytes file = jpeg_bytes(speckled(90, 130, 50), kind_of(sampling, 85, interval));
          const Array whole = through_libjpeg(file, {.color = color}).value();
          const std::optional<Array> found =
              plainly(file, {.color = color, .part = [&](const Shape&) { return part; }});
          ASSERT_TRUE(found.has_value());
          ASSERT_EQ(found->shape, whole.shape);
          const std::int64_t channels = whole.shape[2];
          for (std::int64_t y = part.top; y < part.top + part.height; ++y)
            for (std::int64_t i = part.left * channels; i < (part.left + part.width) * channels; ++i) {
              const auto at = static_cast<std::size_t>(y * 130 * channels + i);
              ASSERT_EQ(found->u8[at], whole.u8[at]) << sampling.name << " row " << y << " byte " << i;
            }
        }
}

TEST(PlainJpeg, OtherKindsAreLeftToLibjpeg) {
  const Picture picture = speckled(30, 50, 20);
  const auto is_left = [](const Bytes& file, const DecodeOptions& options = {}) {
    return !plainly(file, options).has_value() && through_libjpeg(file, options).has_value();
  };
  JpegKind progressive, rgb, cmyk, rows;
  progressive.progressive = true;
  rgb.space = JCS_RGB;
  cmyk.space = JCS_CMYK;
  EXPECT_TRUE(is_left(jpeg_bytes(picture, progressive)));
  EXPECT_TRUE(is_left(jpeg_bytes(picture, rgb)));
  EXPECT_TRUE(is_left(jpeg_bytes(speckled(30, 50, 20, 4), cmyk)));
  EXPECT_TRUE(is_left(jpeg_bytes(speckled(30, 4, 20)))) << "two columns of chroma";
  EXPECT_TRUE(is_left(jpeg_bytes(picture), {.least_height = 15, .least_width = 25})) << "a half suffices";
  EXPECT_FALSE(is_left(jpeg_bytes(picture), {.least_height = 16, .least_width = 25}));

  Bytes late_end = jpeg_bytes(picture);
  late_end.insert(late_end.end() - 2, 3, 0x55);
  EXPECT_TRUE(is_left(late_end)) << "bytes that belong to nothing";
}

/// One to three times: a bit, a byte, a piece left out, a piece twice, or the end cut off.
Bytes damaged(Bytes bytes, std::mt19937& random) {
  for (std::size_t times = 1 + random() % 3; times > 0 && bytes.size() > 2; --times) {
    const std::size_t at = random() % bytes.size(), length = std::min<std::size_t>(1 + random() % 9, bytes.size() - at);
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at),
               end = place + static_cast<std::ptrdiff_t>(length);
    switch (random() % 6) {
      case 0:
      case 1: *place ^= static_cast<std::uint8_t>(1U << random() % 8); break;
      case 2: *place = static_cast<std::uint8_t>(random()); break;
      case 3: bytes.erase(place, end); break;
      case 4: {
        const Bytes piece(place, end);
        bytes.insert(place, piece.begin(), piece.end());
        break;
      }
      case 5: bytes.resize(random() % 4 == 0 ? at : bytes.size() - random() % 4); break;
    }
  }
  return bytes;
}

TEST(PlainJpeg, DamagedFilesEndAsWithLibjpeg) {
  std::mt19937 random(tier::case_seed(7));
  std::vector<Bytes> seeds;
  for (const Sampling& sampling : kSamplings)
    for (const int quality : {20, 90, 100})
      for (const int interval : {0, 2})
        seeds.push_back(jpeg_bytes(speckled(20, 45, 30), kind_of(sampling, quality, interval)));
  JpegKind gray;
  gray.space = JCS_GRAYSCALE;
  seeds.push_back(jpeg_bytes(speckled(30, 30, 50, 1), gray));
  int taken = 0;
  for (int i = tier::how_many(8000, 100000); i > 0; --i) {
    const Bytes file = damaged(seeds[random() % seeds.size()], random);
    const std::optional<Array> found = plainly(file, {});
    if (!found.has_value()) continue;
    ++taken;
    const std::optional<Array> expected = through_libjpeg(file, {});
    ASSERT_TRUE(expected.has_value()) << "libjpeg refuses the file";
    ASSERT_EQ(found->shape, expected->shape);
    ASSERT_TRUE(found->u8 == expected->u8) << "other pixels";
  }
  EXPECT_GT(taken, 100) << "too few files that both read to compare";
}

}  // namespace
}  // namespace dptrain::data
