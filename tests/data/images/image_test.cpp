#include "data/images/image.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "data/image_files.h"
#include "data/sources/image_folder.h"

namespace dptrain::data {
namespace {

using testing::HasSubstr;

const DecodeOptions kGray{.color = ColorMode::kGrayscale}, kRgb{}, kRgba{.color = ColorMode::kRgba};

Array decoded(const Bytes& file, const DecodeOptions& options = {}) {
  Array out;
  out.u8.assign(100, 0xEE);  // used memory
  decode_image(file, options, out);
  EXPECT_EQ(out.type, DType::kU8);
  EXPECT_EQ(out.u8.size(), static_cast<std::size_t>(out.shape.elements()));
  return out;
}

/// Largest difference between the picture and `expected(y, x, c)`.
int largest_difference(const Array& image, const std::function<double(std::int64_t, std::int64_t, int)>& expected) {
  double most = 0;
  std::size_t i = 0;
  for (std::int64_t y = 0; y < image.shape[0]; ++y)
    for (std::int64_t x = 0; x < image.shape[1]; ++x)
      for (int c = 0; c < image.shape[2]; ++c) most = std::max(most, std::fabs(image.u8[i++] - expected(y, x, c)));
  return static_cast<int>(std::ceil(most));
}

double luminance(const Picture& p, std::int64_t y, std::int64_t x) {
  return 0.299 * p.at(y, x, 0) + 0.587 * p.at(y, x, 1) + 0.114 * p.at(y, x, 2);
}

/// The error of decoding the file. Its offset must be inside the file.
ImageError error_in(const Bytes& file, const DecodeOptions& options = {}) {
  Array out;
  try {
    decode_image(file, options, out);
  } catch (const ImageError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_GE(error.byte(), 0);
    EXPECT_LE(error.byte(), static_cast<std::int64_t>(file.size()));
    return error;
  }
  ADD_FAILURE() << "no error in " << file.size() << " bytes";
  return {0, ""};
}

// Quality 95 on a smooth picture: rounding of colors and coefficients changes values by a few steps.
constexpr int kJpegTolerance = 5;

TEST(DecodeJpeg, ColorAndGray) {
  const Picture picture = gradient(37, 53);
  const Bytes file = jpeg_bytes(picture);
  const Array rgb = decoded(file), gray = decoded(file, kGray), rgba = decoded(file, kRgba);
  EXPECT_EQ(rgb.shape, (Shape{37, 53, 3}));
  EXPECT_LE(largest_difference(rgb, [&](auto y, auto x, int c) { return picture.at(y, x, c); }), kJpegTolerance);
  EXPECT_EQ(gray.shape, (Shape{37, 53, 1}));
  EXPECT_LE(largest_difference(gray, [&](auto y, auto x, int) { return luminance(picture, y, x); }), kJpegTolerance);
  EXPECT_EQ(rgba.shape, (Shape{37, 53, 4}));
  EXPECT_EQ(largest_difference(rgba,
                               [&](auto y, auto x, int c) {
                                 return c == 3 ? 255.0 : rgb.u8[static_cast<std::size_t>((y * 53 + x) * 3 + c)];
                               }),
            0);
}

TEST(DecodeJpeg, GrayFile) {
  const Picture picture = gradient(9, 21, 1);
  const Bytes file = jpeg_bytes(picture, {.space = JCS_GRAYSCALE});
  for (const DecodeOptions& options : {kGray, kRgb, kRgba})
    EXPECT_LE(largest_difference(decoded(file, options),
                                 [&](auto y, auto x, int c) { return c == 3 ? 255.0 : picture.at(y, x, 0); }),
              kJpegTolerance);
}

TEST(DecodeJpeg, RgbFileToGray) {
  const Picture picture = gradient(16, 16);
  const Array gray = decoded(jpeg_bytes(picture, {.space = JCS_RGB}), kGray);
  EXPECT_LE(largest_difference(gray, [&](auto y, auto x, int) { return luminance(picture, y, x); }), kJpegTolerance);
}

TEST(DecodeJpeg, ProgressiveEqualsBaseline) {
  const Picture picture = gradient(40, 56);
  EXPECT_EQ(decoded(jpeg_bytes(picture, {.progressive = true})).u8, decoded(jpeg_bytes(picture)).u8);
  EXPECT_EQ(decoded(jpeg_bytes(picture, {.restart_interval = 2})).u8, decoded(jpeg_bytes(picture)).u8);
}

TEST(DecodeJpeg, FourInks) {
  const Picture picture = gradient(24, 40, 4);
  for (const J_COLOR_SPACE space : {JCS_CMYK, JCS_YCCK})
    for (const bool adobe : {true, false}) {
      if (space == JCS_YCCK && !adobe) continue;  // without the marker, YCCK is not detected
      SCOPED_TRACE(std::to_string(space) + (adobe ? " adobe" : ""));
      const Bytes file = jpeg_bytes(picture, {.space = space, .adobe = adobe, .subsampled = false});
      const auto light = [&](auto y, auto x, int c) {
        const double stored = picture.at(y, x, c);
        return adobe ? stored : 255 - stored;
      };
      const auto expected = [&](auto y, auto x, int c) { return light(y, x, c) * light(y, x, 3) / 255; };
      EXPECT_LE(largest_difference(decoded(file), expected), kJpegTolerance);
      EXPECT_LE(largest_difference(decoded(file, kGray),
                                   [&](auto y, auto x, int) {
                                     return 0.299 * expected(y, x, 0) + 0.587 * expected(y, x, 1) +
                                            0.114 * expected(y, x, 2);
                                   }),
                kJpegTolerance);
      EXPECT_EQ(decoded(file, kRgba).u8[3], 255);
    }
}

/// Position where EXIF displays pixel (row, column) of the file, from a separate table: the sides of row 0 and column
/// 0.
std::pair<std::int64_t, std::int64_t> seen(int orientation, std::int64_t row, std::int64_t column, std::int64_t h,
                                           std::int64_t w) {
  switch (orientation) {
    case 1: return {row, column};                  // top, left
    case 2: return {row, w - 1 - column};          // top, right
    case 3: return {h - 1 - row, w - 1 - column};  // bottom, right
    case 4: return {h - 1 - row, column};          // bottom, left
    case 5: return {column, row};                  // left, top
    case 6: return {column, h - 1 - row};          // right, top
    case 7: return {w - 1 - column, h - 1 - row};  // right, bottom
    default: return {w - 1 - column, row};         // left, bottom
  }
}

TEST(DecodeJpeg, Orientation) {
  const Picture picture = gradient(41, 67);
  for (int orientation = 1; orientation <= 8; ++orientation)
    for (const DecodeOptions& options : {kGray, kRgb, kRgba}) {
      SCOPED_TRACE(orientation);
      const Bytes file = jpeg_bytes(picture, {.orientation = orientation, .big_endian = orientation % 2 == 0});
      DecodeOptions ignoring = options;
      ignoring.rotate = false;
      const Array stored = decoded(file, ignoring), upright = decoded(file, options);
      EXPECT_EQ(stored.shape[0], 41);
      const auto channels = static_cast<std::size_t>(stored.shape[2]);
      ASSERT_EQ(upright.shape[0], orientation < 5 ? 41 : 67);
      ASSERT_EQ(upright.shape[1], orientation < 5 ? 67 : 41);
      for (std::int64_t row = 0; row < 41; ++row)
        for (std::int64_t column = 0; column < 67; ++column) {
          const auto [y, x] = seen(orientation, row, column, 41, 67);
          for (std::size_t c = 0; c < channels; ++c)
            ASSERT_EQ(upright.u8[static_cast<std::size_t>(y * upright.shape[1] + x) * channels + c],
                      stored.u8[static_cast<std::size_t>(row * 67 + column) * channels + c]);
        }
    }
}

TEST(DecodeJpeg, IgnoresInvalidExif) {
  const Picture picture = gradient(8, 16);
  for (const int orientation : {9, 255})
    EXPECT_EQ(decoded(jpeg_bytes(picture, {.orientation = orientation})).shape[0], 8);
  Bytes file = jpeg_bytes(picture, {.orientation = 6});
  const std::string exif_word = "Exif";
  const auto at = std::search(file.begin(), file.end(), exif_word.begin(), exif_word.end());
  ASSERT_NE(at, file.end());
  at[10] = 0xFF, at[11] = 0xFF;  // the directory is far outside
  EXPECT_EQ(decoded(file).shape[0], 8);
}

/// Smooth above, noise below: blocks from almost empty to full.
Picture half_noise(std::int64_t height, std::int64_t width, int channels = 3) {
  Picture picture = gradient(height, width, channels);
  std::mt19937 draw(5);
  for (std::size_t i = picture.pixels.size() / 2; i < picture.pixels.size(); ++i)
    picture.pixels[i] = static_cast<std::uint8_t>(draw() & 255);
  return picture;
}

TEST(DecodeJpeg, DecodesAPartLikeTheWhole) {
  constexpr std::int64_t kHeight = 117, kWidth = 150;
  std::mt19937 draw(7);
  for (int mode = 0; mode < 12; ++mode) {
    const JpegKind kind{.quality = 90,
                        .restart_interval = mode / 3 % 2 * 3,
                        .subsampled = mode % 3 > 0,
                        .subsampled_rows = mode % 3 > 1};
    const Bytes file = jpeg_bytes(half_noise(kHeight, kWidth), kind);
    const ColorMode color = mode < 6 ? ColorMode::kRgb : ColorMode::kGrayscale;
    const Array all = decoded(file, {.color = color});
    const std::int64_t channels = all.shape[2];
    for (int i = 0; i < 100; ++i) {
      const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(draw() % static_cast<unsigned long>(n));
      };
      Window part{.height = 1 + below(kHeight), .width = 1 + below(kWidth)};
      part.top = below(kHeight - part.height + 1);
      part.left = below(kWidth - part.width + 1);
      Array some;
      some.u8.assign(all.u8.size(), 0xEE);
      const auto choose = [&](const Shape& shape) {
        EXPECT_EQ(shape, all.shape);
        return part;
      };
      decode_image(file, {.color = color, .part = choose}, some);
      ASSERT_EQ(some.shape, all.shape);
      for (std::int64_t y = part.top; y < part.top + part.height; ++y) {
        const auto first = all.u8.begin() + (y * kWidth + part.left) * channels;
        ASSERT_TRUE(
            std::equal(first, first + part.width * channels, some.u8.begin() + (y * kWidth + part.left) * channels))
            << "row " << y << " of " << part.top << "+" << part.height << ", " << part.left << "+" << part.width
            << ", mode " << mode;
      }
    }
  }
}

TEST(DecodeJpeg, SkipsBlocksOutsideThePart) {
  const Bytes file = jpeg_bytes(gradient(160, 160));
  Array some;
  some.u8.assign(160 * 160 * 3, 0xEE);
  decode_image(file, {.part = [](const Shape&) { return Window{64, 64, 16, 16}; }}, some);
  const auto at = [&](std::size_t y, std::size_t x) { return some.u8[(y * 160 + x) * 3]; };
  EXPECT_NE(at(64, 64), 0xEE);
  EXPECT_EQ(at(20, 70), 0xEE) << "above";
  EXPECT_EQ(at(120, 70), 0xEE) << "below";
  EXPECT_EQ(at(70, 20), 0xEE) << "left";
  EXPECT_EQ(at(70, 120), 0xEE) << "right";
}

TEST(DecodeJpeg, RejectsAPartOfATruncatedFile) {
  Bytes file = jpeg_bytes(half_noise(160, 160));
  file.resize(file.size() - 10);
  EXPECT_THAT(error_in(file, {.part =
                                  [](const Shape&) {
                                    return Window{0, 0, 16, 16};
                                  }})
                  .reason(),
              HasSubstr("remature end"));
}

TEST(DecodeJpeg, PartsUseOrientedCoordinates) {
  const Bytes file = jpeg_bytes(gradient(40, 60), {.orientation = 6});
  Array some;
  decode_image(file, {.part = [](const Shape& shape) { return Window{0, 0, shape[0] / 2, shape[1] / 2}; }}, some);
  const Array all = decoded(file);
  ASSERT_EQ(some.shape, (Shape{60, 40, 3}));
  EXPECT_TRUE(std::equal(some.u8.begin(), some.u8.begin() + 60, all.u8.begin()));
}

TEST(DecodeJpeg, DecodesSmallerIfAllowed) {
  const Picture picture = gradient(64, 96);
  const auto size = [&](std::int64_t height, std::int64_t width, int orientation) {
    const Array image =
        decoded(jpeg_bytes(picture, {.orientation = orientation}), {.min_height = height, .min_width = width});
    return std::pair{image.shape[0], image.shape[1]};
  };
  EXPECT_EQ(size(0, 0, 1), std::pair(64L, 96L));
  EXPECT_EQ(size(8, 12, 1), std::pair(8L, 12L));
  EXPECT_EQ(size(9, 12, 1), std::pair(16L, 24L));
  EXPECT_EQ(size(20, 20, 1), std::pair(32L, 48L));
  EXPECT_EQ(size(33, 1, 1), std::pair(64L, 96L));
  EXPECT_EQ(size(100, 100, 1), std::pair(64L, 96L));
  EXPECT_EQ(size(24, 16, 6), std::pair(24L, 16L));  // 96 x 64 when upright
  EXPECT_EQ(size(16, 24, 6), std::pair(48L, 32L));
  const Array half = decoded(jpeg_bytes(picture), {.min_height = 32, .min_width = 48});
  EXPECT_LE(largest_difference(half, [&](auto y, auto x, int c) { return picture.at(2 * y, 2 * x, c); }), 8);
}

TEST(DecodeJpeg, ExtremeSizes) {
  EXPECT_EQ(decoded(jpeg_bytes(gradient(1, 1))).shape, (Shape{1, 1, 3}));
  EXPECT_EQ(decoded(jpeg_bytes(gradient(10, 20000))).shape, (Shape{10, 20000, 3}));
  EXPECT_EQ(decoded(jpeg_bytes(gradient(20000, 3), {.orientation = 8})).shape, (Shape{3, 20000, 3}));
}

/// Writes height and width into the frame header of a JPEG.
void claim(Bytes& file, std::uint8_t marker, std::uint16_t height, std::uint16_t width) {
  const Bytes frame{0xFF, marker};
  const auto at = std::search(file.begin(), file.end(), frame.begin(), frame.end());
  ASSERT_NE(at, file.end());
  const Bytes size = big_endian(std::vector{height, width});
  std::copy(size.begin(), size.end(), at + 5);
}

TEST(DecodeJpeg, RejectsDecompressionBombs) {
  Bytes file = jpeg_bytes(gradient(16, 16));
  claim(file, 0xC0, 65000, 65000);
  EXPECT_THAT(error_in(file).what(), HasSubstr("65,000 x 65,000 pixels; at most 134,217,728 are decoded"));
  claim(file, 0xC0, 10000, 10000);
  EXPECT_THAT(error_in(file).reason(), HasSubstr("truncated: an image of 10000 x 10000 pixels needs more bytes"));
  Bytes arithmetic = jpeg_bytes(gradient(16, 16), {.arithmetic = true});
  EXPECT_EQ(decoded(arithmetic).shape, (Shape{16, 16, 3}));
  claim(arithmetic, 0xC9, 10000, 10000);
  EXPECT_THAT(error_in(arithmetic).reason(), HasSubstr("truncated: an image of 10000 x 10000 pixels needs more bytes"));
  // Every scan covers the whole picture again: repeats the first one a hundred times.
  Bytes progressive = jpeg_bytes(gradient(16, 16), {.progressive = true});
  const Bytes scan{0xFF, 0xDA}, table{0xFF, 0xC4};
  const auto first = std::search(progressive.begin(), progressive.end(), scan.begin(), scan.end());
  const auto end = std::search(first, progressive.end(), table.begin(), table.end());
  ASSERT_NE(end, progressive.end());
  const Bytes one(first, end);
  const auto at = end - progressive.begin();
  for (int i = 0; i < 100; ++i) progressive.insert(progressive.begin() + at, one.begin(), one.end());
  EXPECT_EQ(error_in(progressive).reason(), "more than 100 scans");
}

TEST(DecodeJpeg, RejectsTruncatedFiles) {
  for (const bool progressive : {false, true}) {
    const Bytes whole = jpeg_bytes(gradient(48, 48), {.progressive = progressive, .restart_interval = 3});
    for (std::size_t length = 1; length < whole.size(); ++length) {
      SCOPED_TRACE(length);
      const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_FALSE(error_in(part).reason().empty());
    }
    const Bytes half(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(whole.size() * 3 / 4));
    EXPECT_EQ(error_in(half).reason(), "Premature end of JPEG file");
    EXPECT_EQ(error_in(half).byte(), static_cast<std::int64_t>(half.size()));
  }
}

TEST(DecodeJpeg, DamageInTheMiddle) {
  const Bytes whole = jpeg_bytes(gradient(64, 64), {.quality = 100});
  Bytes file = whole;
  std::fill(file.begin() + 700, file.begin() + 760, std::uint8_t{0});
  file[760] = 0xFF, file[761] = 0xD9;  // an end in the middle
  const ImageError error = error_in(file);
  EXPECT_THAT(error.reason(), HasSubstr("Corrupt JPEG data"));
  EXPECT_GT(error.byte(), 600);
  EXPECT_LT(error.byte(), 770);
  file = whole;
  append(file, text_bytes("what cameras put behind the picture"));
  EXPECT_EQ(decoded(file).u8, decoded(whole).u8);
}

TEST(DecodePng, Channels) {
  for (const int channels : {1, 2, 3, 4})
    for (const std::uint8_t depth : {std::uint8_t{8}, std::uint8_t{16}}) {
      SCOPED_TRACE(std::to_string(channels) + " channels of " + std::to_string(depth));
      const Picture picture = gradient(7, 5, channels);
      const Bytes file = png_bytes(picture, depth);
      EXPECT_EQ(largest_difference(decoded(file),
                                   [&](auto y, auto x, int c) { return picture.at(y, x, channels < 3 ? 0 : c); }),
                0);
      EXPECT_EQ(largest_difference(decoded(file, kRgba),
                                   [&](auto y, auto x, int c) {
                                     return c == 3 ? (channels % 2 == 0 ? picture.at(y, x, channels - 1) : 255)
                                                   : picture.at(y, x, channels < 3 ? 0 : c);
                                   }),
                0);
      EXPECT_LE(largest_difference(
                    decoded(file, kGray),
                    [&](auto y, auto x, int) { return channels < 3 ? picture.at(y, x, 0) : luminance(picture, y, x); }),
                1);
    }
}

TEST(DecodePng, RejectsTruncatedAndDamagedFiles) {
  const Bytes whole = png_bytes(gradient(9, 9));
  for (std::size_t length = 1; length < whole.size(); ++length)
    error_in(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
  for (std::size_t byte = 8; byte + 12 < whole.size(); ++byte) {
    SCOPED_TRACE(byte);
    Bytes file = whole;
    file[byte] ^= 0x10;
    // A length field cannot be distinguished from a truncated chunk, and a size may be too large. The checksum covers
    // the rest.
    EXPECT_THAT(error_in(file).reason(),
                testing::AnyOf(HasSubstr("checksum"), HasSubstr("truncated"), HasSubstr("at most")));
  }
  EXPECT_THAT(error_in(Bytes(whole.begin(), whole.begin() + 60)).reason(),
              HasSubstr("truncated inside the chunk IDAT"));
}

TEST(DecodePng, RejectsTooLargeSizes) {
  Bytes header = big_endian(std::vector<std::uint32_t>{60000, 60000});
  append(header, {8, 2, 0, 0, 0});
  Bytes file{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  append(file, png_chunk("IHDR", header));
  append(file, png_chunk("IEND", {}));
  EXPECT_THAT(error_in(file).reason(), HasSubstr("60,000 x 60,000 pixels; at most"));
  // 64 MiB of zeros in 64 KiB for a picture of one pixel.
  Bytes zeros(64U << 20), packed(compressBound(zeros.size()));
  uLongf size = packed.size();
  compress(packed.data(), &size, zeros.data(), zeros.size());
  packed.resize(size);
  header = big_endian(std::vector<std::uint32_t>{1, 1});
  append(header, {8, 0, 0, 0, 0});
  file.resize(8);
  append(file, png_chunk("IHDR", header));
  append(file, png_chunk("IDAT", packed));
  append(file, png_chunk("IEND", {}));
  EXPECT_THAT(error_in(file).reason(), HasSubstr("damaged PNG: outofmem"));
}

TEST(DecodeOthers, Bmp) {
  const Picture picture = gradient(6, 5);
  const Bytes file = bmp_bytes(picture);
  EXPECT_EQ(decoded(file).u8, picture.pixels);
  for (std::size_t length = 1; length + 1 < file.size(); ++length)  // the last byte is padding
    error_in(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length)));
}

TEST(DecodeOthers, GifsHaveASmallerLimitThanPhotos) {
  const Bytes palette{0, 0, 0, 255, 255, 255, 1, 1, 1, 2, 2, 2};
  Bytes file = gif_bytes(3, 4, palette, Bytes(12, 1));
  file[6] = 0x01, file[7] = 0x10, file[8] = 0x00, file[9] = 0x10;  // 4097 x 4096
  EXPECT_THAT(error_in(file).what(),
              testing::HasSubstr("4,097 x 4,096 pixels; at most 16,777,216 of a GIF are decoded"));
}

TEST(DecodeOthers, DecodesTheFirstPictureOfAGif) {
  const Bytes palette{0, 0, 0, 255, 0, 0, 0, 255, 0, 10, 20, 30};
  const Bytes indices{1, 2, 3, 0, 2, 1, 0, 3, 3, 1, 2, 2};
  const Bytes file = gif_bytes(3, 4, palette, indices);
  const Array image = decoded(file);
  EXPECT_EQ(image.shape, (Shape{3, 4, 3}));
  EXPECT_EQ(largest_difference(
                image,
                [&](auto y, auto x, int c) {
                  return palette[3U * indices[static_cast<std::size_t>(4 * y + x)] + static_cast<std::size_t>(c)];
                }),
            0);
  for (std::size_t length = 1; length + 2 < file.size(); ++length)  // the decoder ignores bytes after the picture
    error_in(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length)));
}

TEST(DecodeOthers, Pnm) {
  for (const int channels : {1, 3}) {
    const Picture picture = gradient(4, 7, channels);
    const Bytes file = pnm_bytes(picture);
    EXPECT_EQ(decoded(file, channels == 1 ? kGray : kRgb).u8, picture.pixels);
    for (std::size_t length = 1; length < file.size(); ++length)
      error_in(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length)));
  }
  EXPECT_EQ(decoded(pnm_bytes({1, 3, 1, {0, 7, 15}}, "15"), kGray).u8, (Bytes{0, 119, 255}));
  EXPECT_EQ(decoded(pnm_bytes({1, 2, 1, {0x12, 0xFF, 0xFF, 0xFF}}, "65535"), kGray).u8, (Bytes{0x12, 0xFF}));
  EXPECT_EQ(decoded(pnm_bytes({1, 2, 1, {0x03, 0xFF, 0x01, 0x00}}, "1023"), kGray).u8, (Bytes{255, 64}));
  EXPECT_THAT(error_in(pnm_bytes({1, 1, 1, {16}}, "15")).reason(), HasSubstr("the value 16 is above maxval, 15"));
  EXPECT_THAT(error_in(text_bytes("P5 99999 99999 255\n")).reason(), HasSubstr("99,999 x 99,999 pixels; at most"));
  EXPECT_THAT(error_in(text_bytes("P5 99999999999999999999 1 255\n")).reason(), HasSubstr("at most"));
  EXPECT_THAT(error_in(text_bytes("P6 2 2 0\n")).reason(), HasSubstr("maxval is 0"));
}

TEST(ImageFormat, RejectsOtherFiles) {
  EXPECT_EQ(std::string(error_in({}).what()), "byte 0: the file is empty");
  EXPECT_THAT(error_in(text_bytes("these are no pixels\n")).what(),
              testing::StrEq("byte 0: not a readable image but a text file; expected JPEG, PNG, BMP, GIF, PGM or PPM"));
  EXPECT_THAT(error_in(text_bytes("RIFF????WEBPVP8 ")).reason(), HasSubstr("a WebP image"));
  EXPECT_THAT(error_in({0x4D, 0x4D, 0, 0x2A}).reason(), HasSubstr("a TIFF image"));
  EXPECT_THAT(error_in({0xFF, 0xD8}).reason(), HasSubstr("a damaged JPEG"));
  EXPECT_THAT(error_in({0, 1, 2, 3, 4}).reason(), HasSubstr("a file that begins with 00 01 02 03"));
}

}  // namespace
}  // namespace dptrain::data
