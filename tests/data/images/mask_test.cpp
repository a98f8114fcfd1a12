#include "data/images/mask.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "data/image_files.h"
#include "data/images/image.h"

namespace dptrain::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const MaskReading kRoadAndSky{.colors = {{0x80, 0x40, 0x80}, {0x46, 0x82, 0xB4}}, .ignored = {{0, 0, 0}}};

Array decoded_mask(const Bytes& file, const MaskReading& reading = {}) {
  Array out;
  out.u8.assign(1000, 0xEE);  // used memory
  decode_mask(file, reading, out);
  EXPECT_EQ(out.type, DType::kU8);
  EXPECT_EQ(out.u8.size(), static_cast<std::size_t>(out.shape.elements()));
  return out;
}

std::string mask_error(const Bytes& file, const MaskReading& reading = {}) {
  return error_of(ErrorKind::kData, [&] {
    Array out;
    decode_mask(file, reading, out);
  });
}

constexpr std::uint8_t kDepths[] = {1, 2, 4, 8};

/// Values 0, 1, ..., 2^depth - 1, again and again.
Bytes counting(std::int64_t pixels, int depth) {
  Bytes values;
  for (std::int64_t i = 0; i < pixels; ++i) values.push_back(static_cast<std::uint8_t>(i % (1 << depth)));
  return values;
}

/// RGB triples that differ from gray values.
Bytes some_palette(int colors) {
  Bytes palette;
  for (int k = 0; k < colors; ++k)
    append(palette, {static_cast<std::uint8_t>(255 - k), 7, static_cast<std::uint8_t>(k)});
  return palette;
}

TEST(Mask, IndicesAreClassesAtEveryDepth) {
  for (const std::uint8_t depth : kDepths)
    for (const std::int64_t width : {1, 7, 8, 37}) {
      const Bytes values = counting(11 * width, depth);
      const Array mask = decoded_mask(png_mask(11, width, depth, values, some_palette(1 << depth)));
      EXPECT_EQ(mask.shape, (Shape{11, width, 1}));
      EXPECT_EQ(mask.u8, values) << int{depth} << " bits, width " << width;
    }
}

TEST(Mask, GrayValuesAreClassesWithoutScaling) {
  for (const std::uint8_t depth : kDepths) {
    const Bytes values = counting(7 * 37, depth);
    EXPECT_EQ(decoded_mask(png_mask(7, 37, depth, values)).u8, values) << int{depth} << " bits";
  }
}

TEST(Mask, GrayWithAlphaDropsAlpha) {
  EXPECT_THAT(decoded_mask(png_bytes({1, 3, 2, {5, 255, 6, 0, 7, 128}})).u8, ElementsAre(5, 6, 7));
}

TEST(Mask, IndexOutsideOfThePaletteIsAClass) {
  EXPECT_THAT(decoded_mask(png_mask(1, 3, 8, {0, 255, 1}, some_palette(2))).u8, ElementsAre(0, 255, 1));
}

TEST(Mask, ColorsBecomeClasses) {
  const Bytes pixels{0x46, 0x82, 0xB4, 0x80, 0x40, 0x80, 0, 0, 0, 0x80, 0x40, 0x80};
  EXPECT_THAT(decoded_mask(png_bytes({2, 2, 3, pixels}), kRoadAndSky).u8, ElementsAre(1, 0, 255, 0));
  MaskReading seven = kRoadAndSky;
  seven.ignore_class = 7;
  EXPECT_THAT(decoded_mask(png_bytes({2, 2, 3, pixels}), seven).u8, ElementsAre(1, 0, 7, 0));
  const Bytes rgba{0x46, 0x82, 0xB4, 0, 0x80, 0x40, 0x80, 9};
  EXPECT_THAT(decoded_mask(png_bytes({1, 2, 4, rgba}), kRoadAndSky).u8, ElementsAre(1, 0));
}

TEST(Mask, ColorsOfAPaletteAndOfGrayBecomeClasses) {
  const Bytes palette{0, 0, 0, 0x46, 0x82, 0xB4, 0x80, 0x40, 0x80};
  EXPECT_THAT(decoded_mask(png_mask(1, 4, 2, {0, 1, 2, 1}, palette), kRoadAndSky).u8, ElementsAre(255, 1, 0, 1));
  const MaskReading black_and_white{.colors = {{0, 0, 0}, {255, 255, 255}}};
  EXPECT_THAT(decoded_mask(png_mask(1, 3, 8, {255, 0, 255}), black_and_white).u8, ElementsAre(1, 0, 1));
  EXPECT_THAT(decoded_mask(png_mask(1, 3, 1, {1, 0, 1}), black_and_white).u8, ElementsAre(1, 0, 1));
  EXPECT_THAT(decoded_mask(png_mask(1, 2, 4, {15, 0}), black_and_white).u8, ElementsAre(1, 0));
}

TEST(Mask, NamesAColorThatIsNotListed) {
  const Bytes pixels{0x46, 0x82, 0xB4, 0x80, 0x40, 0x80, 0, 0, 0, 0x80, 0x40, 0x81};
  EXPECT_EQ(mask_error(png_bytes({2, 2, 3, pixels}), kRoadAndSky),
            "the pixel in row 1, column 1 (from 0) has the color #804081, which is not listed in `classes` or "
            "`ignore_colors`");
  EXPECT_THAT(mask_error(png_mask(2, 2, 8, {0, 0, 9, 0}), kRoadAndSky), HasSubstr("row 1, column 0 (from 0) has"));
  const Bytes palette{0, 0, 0, 0x46, 0x82, 0xB4};
  EXPECT_EQ(mask_error(png_mask(1, 3, 2, {0, 1, 2}, palette), kRoadAndSky),
            "the pixel in row 0, column 2 (from 0) has the index 2, but the palette has 2 colors");
}

TEST(Mask, RejectsOtherKindsOfFiles) {
  EXPECT_THAT(mask_error(png_bytes(gradient(5, 7))),
              AllOf(HasSubstr("a mask of RGB colors"), HasSubstr("`classes: {")));
  EXPECT_THAT(mask_error(png_bytes(gradient(5, 7, 4))), HasSubstr("a mask of RGB colors"));
  EXPECT_THAT(mask_error(png_bytes(gradient(5, 7, 1), 16)), HasSubstr("byte 24: a mask of 16 bits per channel"));
  EXPECT_THAT(mask_error(png_bytes(gradient(5, 7), 16), kRoadAndSky), HasSubstr("16 bits"));
  EXPECT_THAT(mask_error(jpeg_bytes(gradient(5, 7, 1), {.space = JCS_GRAYSCALE})),
              HasSubstr("a JPEG image; expected a PNG, because JPEG changes the class numbers"));
  EXPECT_THAT(mask_error(bmp_bytes(gradient(5, 7))), HasSubstr("a mask in the format bmp; expected a PNG"));
  EXPECT_THAT(mask_error(pnm_bytes(gradient(5, 7, 1))), HasSubstr("a mask in the format pnm; expected a PNG"));
  EXPECT_THAT(mask_error(text_bytes("no image")), HasSubstr("not a readable image but a text file"));
}

TEST(Mask, RejectsEveryTruncation) {
  const Bytes whole = png_mask(9, 11, 8, counting(99, 5), some_palette(32));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(mask_error(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))), "") << size;
}

TEST(Mask, RejectsTooFewRowsAndDamagedData) {
  EXPECT_THAT(mask_error(png_file(9, 3, 8, 0, Bytes(16))), HasSubstr("damaged PNG: "));
  Bytes flipped = png_mask(9, 11, 8, counting(99, 5));
  flipped[flipped.size() - 20] ^= 0x55U;
  EXPECT_THAT(mask_error(flipped), HasSubstr("the checksum of the chunk IDAT is wrong"));
  EXPECT_THAT(mask_error(png_file(2, 2, 8, 3, Bytes(6))), HasSubstr("damaged PNG: "));  // no palette
}

TEST(Mask, RejectsHugeSizesBeforeAllocation) {
  EXPECT_THAT(mask_error(png_file(20'000, 20'000, 8, 0, Bytes(6))), HasSubstr("20,000 x 20,000 pixels; at most"));
  EXPECT_THAT(mask_error(png_file(10'000, 10'000, 8, 0, Bytes(6))), HasSubstr("truncated: an image of 10000 x 10000"));
}

TEST(Mask, ErrorsOfFilesNameTheFile) {
  const TempFolder folder;
  Array out;
  const Bytes whole = png_mask(9, 11, 8, counting(99, 5));
  const std::string cut = write_plain(folder.file("cut.png"), Bytes(whole.begin(), whole.end() - 5));
  try {
    read_mask(cut, {}, out);
    ADD_FAILURE() << "no error";
  } catch (const SampleError& error) {
    EXPECT_EQ(error.sample().file, cut);
    EXPECT_EQ(error.sample().byte, static_cast<std::int64_t>(whole.size() - 5));
  }
  EXPECT_THROW(read_mask(folder.file("missing.png"), {}, out), SampleError);
  const std::string color = write_plain(folder.file("color.png"), png_mask(1, 1, 8, {3}));
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { read_mask(color, kRoadAndSky, out); }),
              testing::StartsWith(color + ": the pixel in row 0, column 0"));
}

TEST(Mask, PeekReadsTheSize) {
  const TempFolder folder;
  EXPECT_EQ(peek_mask(write_plain(folder.file("a.png"), png_mask(9, 11, 4, Bytes(99)))), (Shape{9, 11, 1}));
  EXPECT_EQ(peek_mask(write_plain(folder.file("b.png"), jpeg_bytes(gradient(50, 70)))), Shape{});
  EXPECT_EQ(peek_mask(write_plain(folder.file("c.png"), text_bytes("short"))), Shape{});
  EXPECT_EQ(peek_mask(folder.file("missing.png")), Shape{});
}

TEST(Mask, PaletteOfPascalVoc) {
  const std::vector<Rgb> palette = mask_palette(256);
  ASSERT_EQ(palette.size(), 256U);
  EXPECT_EQ(std::set<Rgb>(palette.begin(), palette.end()).size(), 256U);
  EXPECT_EQ(color_text(palette[0]), "#000000");
  EXPECT_EQ(color_text(palette[1]), "#800000");    // aeroplane
  EXPECT_EQ(color_text(palette[15]), "#C08080");   // person
  EXPECT_EQ(color_text(palette[20]), "#004080");   // TV monitor
  EXPECT_EQ(color_text(palette[255]), "#E0E0C0");  // void
  EXPECT_EQ(mask_palette(3).size(), 3U);
  EXPECT_EQ(mask_palette(1000).size(), 256U);
}

TEST(Mask, WrittenMasksAreReadBack) {
  const TempFolder folder;
  for (const int classes : {2, 21, 256}) {
    Bytes values = counting(13 * 17, 8);
    for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(value % classes);
    values.back() = 255;
    const std::string path = folder.file("written.png");
    write_mask(path, values, 13, 17, mask_palette(classes));
    Array mask;
    read_mask(path, {}, mask);
    EXPECT_EQ(mask.shape, (Shape{13, 17, 1}));
    EXPECT_EQ(mask.u8, values) << classes;

    Array rgb;  // colors, decoded by stb_image
    decode_image(read_all(path), {}, rgb);
    const std::vector<Rgb> voc = mask_palette(256);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ((Rgb{rgb.u8[3 * i], rgb.u8[3 * i + 1], rgb.u8[3 * i + 2]}), voc[values[i]]) << i;
  }
}

TEST(Mask, WrittenWithTheColorsOfADataSet) {
  const TempFolder folder;
  const std::string path = folder.file("colors.png");
  write_mask(path, Bytes{1, 0, 1, 1}, 1, 4, kRoadAndSky.colors);
  Array mask;
  read_mask(path, kRoadAndSky, mask);
  EXPECT_THAT(mask.u8, ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(error_of(ErrorKind::kWrite, [&] { write_mask(folder.file("no/folder.png"), Bytes{1}, 1, 1, {}); }),
              HasSubstr("folder.png"));
}

}  // namespace
}  // namespace dptrain::data
