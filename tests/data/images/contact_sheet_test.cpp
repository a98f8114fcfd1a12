#include "data/images/contact_sheet.h"

#include <gtest/gtest.h>

#include <limits>

#include "data/images/image.h"

namespace dptrain::data {
namespace {

RgbImage plain(std::int64_t height, std::int64_t width, std::uint8_t value) { return {height, width, value}; }

/// Pixels of the sheet that have this value in all channels.
std::int64_t count(const RgbImage& sheet, std::uint8_t value) {
  std::int64_t found = 0;
  for (std::size_t i = 0; i < sheet.rgb.size(); i += 3)
    found += sheet.rgb[i] == value && sheet.rgb[i + 1] == value && sheet.rgb[i + 2] == value ? 1 : 0;
  return found;
}

TEST(ContactSheet, HoldsEveryPicture) {
  const RgbImage sheet = contact_sheet(
      {"a", "b"},
      {{"one", {plain(40, 50, 100), plain(40, 50, 101)}}, {"two", {plain(40, 50, 102), plain(30, 20, 103)}}}, 1);
  EXPECT_EQ(count(sheet, 100), 40 * 50);
  EXPECT_EQ(count(sheet, 101), 40 * 50);
  EXPECT_EQ(count(sheet, 102), 40 * 50);
  EXPECT_EQ(count(sheet, 103), 30 * 20);
  EXPECT_GT(count(sheet, 32), 50) << "letters";
  EXPECT_GT(sheet.width, 100);
  EXPECT_GT(sheet.height, 80);
}

TEST(ContactSheet, EnlargesSmallPicturesByAWholeFactor) {
  const RgbImage sheet = contact_sheet({"a"}, {{"one", {plain(8, 10, 100)}}}, 96);
  EXPECT_EQ(count(sheet, 100), 8 * 9 * 10 * 9);
}

TEST(ContactSheet, LettersStayWithinTheSheet) {
  const std::string endless(500, 'W');
  const RgbImage sheet = contact_sheet({"a"}, {{endless + "\xC3\xA9\x01", {plain(8, 10, 100)}}}, 1);
  EXPECT_EQ(sheet.rgb.size(), static_cast<std::size_t>(sheet.height * sheet.width * 3));
  EXPECT_EQ(count(sheet, 100), 80);
}

TEST(ContactSheet, PngReadsBack) {
  RgbImage picture(5, 7);
  for (std::size_t i = 0; i < picture.rgb.size(); ++i) picture.rgb[i] = static_cast<std::uint8_t>(i * 11);
  Array read;
  decode_image(encode_png(picture), {}, read);
  EXPECT_EQ(read.shape, (Shape{5, 7, 3}));
  EXPECT_EQ(read.u8, picture.rgb);
}

TEST(ContactSheet, PicturesOfValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values{0.0F, 0.5F, 1.0F, 2.0F, -1.0F, nan};
  EXPECT_EQ(image_of(values.data(), 1, 2, 3, 0, 1).rgb, (std::vector<std::uint8_t>{0, 128, 255, 255, 0, 0}));
  EXPECT_EQ(image_of(values.data(), 1, 3, 1, 0, 1).rgb,
            (std::vector<std::uint8_t>{0, 0, 0, 128, 128, 128, 255, 255, 255}));
  EXPECT_EQ(image_of(values.data(), 1, 1, 4, 0, 2).rgb, (std::vector<std::uint8_t>{0, 64, 128}));
  EXPECT_EQ(image_of(values.data(), 1, 1, 3, 1, 1).rgb, (std::vector<std::uint8_t>{0, 0, 0})) << "no range";
}

}  // namespace
}  // namespace dptrain::data
