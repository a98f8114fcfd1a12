#include "plot/file.h"

#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "plot/chart.h"
#include "plot/png_reader.h"
#include "plot/text_width.h"

namespace dptrain::plot {
namespace {

/// Skips where the build or the machine has no Pango.
class Png : public testing::Test {
 protected:
  void SetUp() override {
    try {
      need_png();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

/// Pixels that are not the paper's.
std::int64_t inked(const RgbImage& image) {
  std::int64_t found = 0;
  for (std::size_t i = 0; i < image.rgb.size(); i += 3)
    found += image.rgb[i] != 255 || image.rgb[i + 1] != 255 || image.rgb[i + 2] != 255 ? 1 : 0;
  return found;
}

TEST_F(Png, HasTheSizeAndTheShapes) {
  Drawing drawing(100, 50);
  drawing.add({Box{.at = {10, 10}, .width = 30, .height = 20, .ink = Ink::kLine0}, ""});
  const RgbImage image = read_png(to_png(drawing));
  EXPECT_EQ(image.width, 200);
  EXPECT_EQ(image.height, 100);
  EXPECT_EQ(inked(image), 60 * 40);
  const std::uint32_t blue = hue(Ink::kLine0).light;
  const std::size_t inside = static_cast<std::size_t>((30 * image.width + 30) * 3);
  EXPECT_EQ(image.rgb[inside], blue >> 16U & 255U);
  EXPECT_EQ(image.rgb[inside + 2], blue & 255U);
}

TEST_F(Png, DrawsLinesMarksWordsAndImages) {
  const auto alone = [](Item item) {
    Drawing drawing(60, 60);
    drawing.add(std::move(item));
    return inked(read_png(to_png(drawing, 1)));
  };
  EXPECT_GT(alone({Polyline{.points = {{10, 10}, {50, 50}}}, ""}), 30);
  std::set<std::int64_t> areas;
  for (const Mark mark : {Mark::kDisc, Mark::kSquare, Mark::kTriangle, Mark::kDiamond, Mark::kCross})
    areas.insert(alone({MarkItem{.at = {30, 30}, .mark = mark, .radius = 10}, ""}));
  EXPECT_EQ(areas.size(), 5U) << "two marks look alike";
  EXPECT_GT(alone({Words{.at = {5, 30}, .text = "Gänse"}, ""}), 50);
  EXPECT_GT(alone({Words{.at = {30, 50}, .text = "up", .angle = -90}, ""}), 20);
  const auto gray = std::make_shared<RgbImage>(2, 3, std::uint8_t{100});
  EXPECT_EQ(alone({ImageItem{.at = {5, 5}, .width = 30, .height = 20, .image = gray}, ""}), 600);
}

TEST_F(Png, AnchorsWords) {
  const auto columns = [](Anchor anchor) {
    Drawing drawing(200, 30);
    drawing.add({Words{.at = {100, 20}, .text = "mmmm", .anchor = anchor}, ""});
    const RgbImage image = read_png(to_png(drawing, 1));
    std::int64_t left = 0, right = 0;
    for (std::int64_t i = 0; i < image.height * image.width; ++i)
      if (image.rgb[static_cast<std::size_t>(3 * i)] < 200) ++(i % image.width < 100 ? left : right);
    return std::pair(left > 0, right > 0);
  };
  EXPECT_EQ(columns(Anchor::kStart), std::pair(false, true));
  EXPECT_EQ(columns(Anchor::kMiddle), std::pair(true, true));
  EXPECT_EQ(columns(Anchor::kEnd), std::pair(true, false));
}

TEST_F(Png, WordsAreAsWideAsTheLayoutCounts) {
  for (const char* const text : {"best 0.0666, epoch 4", "val_kind_accuracy", "mean squared error"}) {
    const double counted = text_width(text, 12);
    Drawing drawing(300, 30);
    drawing.add({Words{.at = {10, 20}, .text = text}, ""});
    const RgbImage image = read_png(to_png(drawing, 1));
    std::int64_t last = 0;
    for (std::int64_t i = 0; i < image.height * image.width; ++i)
      if (image.rgb[static_cast<std::size_t>(3 * i)] < 200) last = std::max(last, i % image.width);
    EXPECT_NEAR(static_cast<double>(last - 10), counted, 0.06 * counted) << text;
  }
}

TEST_F(Png, AChartIsNotBlank) {
  const Chart chart{.title = "t", .panels = {{.title = "loss", .lines = {{.name = "a", .points = {{1, 2}, {2, 1}}}}}}};
  const Drawing drawing = draw(chart);
  const RgbImage image = read_png(to_png(drawing, 1));
  EXPECT_EQ(image.width, static_cast<std::int64_t>(drawing.width()));
  EXPECT_GT(inked(image), 1000);
}

TEST_F(Png, BytesThatAreNoTextAreShownNotObeyed) {
  Drawing drawing(100, 30);
  drawing.add({Words{.at = {5, 20}, .text = "a\xff\x01"}, ""});
  EXPECT_GT(inked(read_png(to_png(drawing, 1))), 30);
}

}  // namespace
}  // namespace dptrain::plot
