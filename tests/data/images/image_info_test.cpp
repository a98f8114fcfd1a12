#include "data/images/image_info.h"

#include <gtest/gtest.h>

#include "data/image_files.h"
#include "data/images/image.h"

namespace dptrain::data {
namespace {

/// "jpeg rgb 5x7 8 bit"
std::string description(const Bytes& file) {
  const ImageInfo info = image_info(file);
  return info.format + (info.progressive ? " progressive " : " ") + info.color_mode + " " +
         std::to_string(info.height) + "x" + std::to_string(info.width) + " " + std::to_string(info.bits) + " bit";
}

TEST(ImageInfo, ReadsEveryFormat) {
  EXPECT_EQ(description(jpeg_bytes(gradient(5, 7))), "jpeg rgb 5x7 8 bit");
  EXPECT_EQ(description(jpeg_bytes(gradient(5, 7), {.progressive = true, .orientation = 6})),
            "jpeg progressive rgb 5x7 8 bit");
  EXPECT_EQ(description(jpeg_bytes(gradient(300, 2, 1), {.space = JCS_GRAYSCALE})), "jpeg gray 300x2 8 bit");
  EXPECT_EQ(description(jpeg_bytes(gradient(5, 7, 4), {.space = JCS_CMYK})), "jpeg cmyk 5x7 8 bit");
  EXPECT_EQ(description(png_bytes(gradient(5, 7))), "png rgb 5x7 8 bit");
  EXPECT_EQ(description(png_bytes(gradient(5, 7, 4), 16)), "png rgba 5x7 16 bit");
  EXPECT_EQ(description(png_bytes(gradient(5, 7, 2))), "png gray+alpha 5x7 8 bit");
  EXPECT_EQ(description(bmp_bytes(gradient(5, 7))), "bmp rgb 5x7 8 bit");
  EXPECT_EQ(description(gif_bytes(2, 3, Bytes(12), Bytes(6))), "gif palette 2x3 8 bit");
  EXPECT_EQ(description(pnm_bytes(gradient(5, 7))), "pnm rgb 5x7 8 bit");
  EXPECT_EQ(description(pnm_bytes(gradient(5, 7, 1))), "pnm gray 5x7 8 bit");
}

TEST(ImageInfo, OrientationOfJpeg) {
  for (int orientation = 1; orientation <= 8; ++orientation)
    for (const bool big_endian : {false, true})
      EXPECT_EQ(
          image_info(jpeg_bytes(gradient(5, 7), {.orientation = orientation, .big_endian = big_endian})).orientation,
          orientation);
  EXPECT_EQ(image_info(jpeg_bytes(gradient(5, 7))).orientation, 1);
}

TEST(ImageInfo, PeekedShapeIsThatOfTheSample) {
  const TempFolder folder;
  for (const int orientation : {1, 3, 6, 8})
    for (const Exif exif : {Exif::kRotate, Exif::kIgnore}) {
      const std::string path =
          write_plain(folder.file("a.jpg"), jpeg_bytes(gradient(5, 7), {.orientation = orientation}));
      Array image;
      read_image_file(path, {.exif = exif}, {}, image);
      EXPECT_EQ(peek_image_file(path, {.exif = exif}), image.shape) << orientation;
    }
}

TEST(ImageInfo, RejectsFilesThatEndInTheHeader) {
  for (const Bytes& whole : {jpeg_bytes(gradient(5, 7)), png_bytes(gradient(5, 7)), bmp_bytes(gradient(5, 7)),
                             gif_bytes(2, 3, Bytes(12), Bytes(6)), pnm_bytes(gradient(5, 7))})
    for (std::size_t size = 0; size < 10; ++size)
      EXPECT_THROW(image_info(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))), ImageError)
          << size;
  EXPECT_THROW(image_info(text_bytes("no image")), ImageError);
}

TEST(ImageInfo, RecognizesSuffixes) {
  EXPECT_EQ(format_of_name("a/b.JPG"), "jpeg");
  EXPECT_EQ(format_of_name("b.jpeg"), "jpeg");
  EXPECT_EQ(format_of_name("b.jpg.png"), "png");
  EXPECT_EQ(format_of_name("b.txt"), "");
  EXPECT_EQ(format_of_name("jpg"), "");
}

}  // namespace
}  // namespace dptrain::data
