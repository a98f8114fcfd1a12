#include "plot/rgb_image.h"

#include <gtest/gtest.h>

#include <limits>

#include "plot/png_reader.h"

namespace dptrain::plot {
namespace {

TEST(RgbImage, PngReadsBack) {
  RgbImage picture(5, 7);
  for (std::size_t i = 0; i < picture.rgb.size(); ++i) picture.rgb[i] = static_cast<std::uint8_t>(i * 11);
  const RgbImage read = read_png(encode_png(picture));
  EXPECT_EQ(read.height, 5);
  EXPECT_EQ(read.width, 7);
  EXPECT_EQ(read.rgb, picture.rgb);
}

TEST(RgbImage, OfValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values{0.0F, 0.5F, 1.0F, 2.0F, -1.0F, nan};
  EXPECT_EQ(image_of(values.data(), 1, 2, 3, 0, 1).rgb, (std::vector<std::uint8_t>{0, 128, 255, 255, 0, 0}));
  EXPECT_EQ(image_of(values.data(), 1, 3, 1, 0, 1).rgb,
            (std::vector<std::uint8_t>{0, 0, 0, 128, 128, 128, 255, 255, 255}));
  EXPECT_EQ(image_of(values.data(), 1, 1, 4, 0, 2).rgb, (std::vector<std::uint8_t>{0, 64, 128}));
  EXPECT_EQ(image_of(values.data(), 1, 1, 3, 1, 1).rgb, (std::vector<std::uint8_t>{0, 0, 0})) << "no range";
}

TEST(RgbImage, ShrinksToMeans) {
  RgbImage picture(4, 8);
  for (std::size_t i = 0; i < picture.rgb.size(); ++i) picture.rgb[i] = static_cast<std::uint8_t>(i / 3 % 8 * 10);
  const RgbImage small = shrunk(picture, 4);
  EXPECT_EQ(small.height, 2);
  EXPECT_EQ(small.width, 4);
  for (std::size_t i = 0; i < small.rgb.size(); ++i) EXPECT_EQ(small.rgb[i], i / 3 % 4 * 20 + 5) << i;
  EXPECT_EQ(shrunk(picture, 8).rgb, picture.rgb);
  EXPECT_EQ(shrunk(RgbImage(1, 1000), 10).height, 1);
  EXPECT_EQ(shrunk(RgbImage(7, 5, 9), 3).rgb, std::vector<std::uint8_t>(3 * 2 * 3, 9));
}

}  // namespace
}  // namespace dptrain::plot
