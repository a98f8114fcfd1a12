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

ClassMap numbered(std::int64_t height, std::int64_t width) {
  ClassMap map{.height = height, .width = width};
  for (std::int64_t i = 0; i < height * width; ++i) map.classes.push_back(static_cast<std::int32_t>(i));
  return map;
}

TEST(ClassMap, ResizesToTheNearestPixel) {
  EXPECT_EQ(resized(numbered(2, 2), 4, 4).classes,
            (std::vector<std::int32_t>{0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3}));
  EXPECT_EQ(resized(numbered(2, 3), 2, 3).classes, numbered(2, 3).classes);
  EXPECT_EQ(resized(numbered(1, 2), 1, 5).classes, (std::vector<std::int32_t>{0, 0, 1, 1, 1}));
  EXPECT_EQ(resized(numbered(3, 3), 1, 1).classes, std::vector<std::int32_t>{4}) << "the middle";
  for (const auto& [height, width] : {std::pair{7, 5}, {1, 100}, {40, 30}}) {
    const ClassMap map = shrunk(numbered(height, width), 12);
    const RgbImage image = shrunk(RgbImage(height, width), 12);
    EXPECT_EQ(map.height, image.height);
    EXPECT_EQ(map.width, image.width);
  }
}

TEST(RgbImage, MixesInTheColorsOfClasses) {
  const RgbImage image(1, 4, 100);
  const ClassMap map{.height = 1, .width = 4, .classes = {0, 1, 2, 7}};
  const std::vector<std::optional<Rgb>> colors{std::nullopt, Rgb{128, 0, 0}, Rgb{0, 255, 100}};
  EXPECT_EQ(overlaid(image, map, colors).rgb,
            (std::vector<std::uint8_t>{100, 100, 100, 114, 50, 50, 50, 178, 100, 100, 100, 100}))
      << "none, red, green, a class without a color";
}

TEST(RgbImage, ResizesTheMapThatIsMixedIn) {
  const std::vector<std::optional<Rgb>> colors{Rgb{0, 0, 0}, Rgb{200, 200, 200}};
  const RgbImage drawn = overlaid(RgbImage(4, 6, 100), {.height = 2, .width = 2, .classes = {0, 1, 1, 0}}, colors);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(drawn.rgb[3 * i], (i / 6 < 2) == (i % 6 < 3) ? 50 : 150) << i;
}

TEST(RgbImage, HatchesIgnoredPixels) {
  ClassMap map{.height = 64, .width = 64};
  map.classes.assign(64 * 64, ClassMap::kIgnored);
  map.classes[0] = 0;
  const RgbImage drawn = overlaid(RgbImage(64, 64, 100), map, {Rgb{0, 0, 0}});
  EXPECT_EQ(drawn.rgb[0], 50);
  std::size_t white = 0, unchanged = 0;
  for (const std::uint8_t value : drawn.rgb) white += value == 255, unchanged += value == 100;
  EXPECT_EQ(white + unchanged, drawn.rgb.size() - 3);
  EXPECT_NEAR(static_cast<double>(white) / static_cast<double>(drawn.rgb.size()), 0.5, 0.05);
}

TEST(RgbImage, GrayIsTheLuminance) {
  RgbImage image(1, 4);
  image.rgb = {255, 255, 255, 255, 0, 0, 0, 255, 0, 10, 20, 30};
  EXPECT_EQ(gray(image).rgb, (std::vector<std::uint8_t>{255, 255, 255, 76, 76, 76, 150, 150, 150, 18, 18, 18}));
}

}  // namespace
}  // namespace dptrain::plot
