#include "plot/class_results.h"

#include <gtest/gtest.h>

#include "plot/svg.h"
#include "plot/svg_text.h"
#include "plot/text_width.h"

namespace dptrain::plot {
namespace {

const ClassBar kMean{.name = "mean", .samples = 30, .precision = 0.5, .recall = 0.6, .f1 = 0.55};

TEST(ClassBars, HasARowPerClassAndTheMean) {
  const std::string svg = to_svg(class_bars(
      "net on test",
      {{.name = "Ромашка", .samples = 1234, .precision = 0.25, .recall = 1, .f1 = 0.4}, {.name = "empty"}}, kMean));
  EXPECT_EQ(count(svg, ">net on test</text>"), 1U);
  EXPECT_EQ(count(svg, ">Ромашка</text>"), 1U);
  EXPECT_EQ(count(svg, ">0.400</text>"), 1U);
  EXPECT_EQ(count(svg, ">1,234</text>"), 1U);
  EXPECT_EQ(count(svg, "<title>Ромашка: precision 0.2500, recall 1.0000, F1 0.4000, 1,234 samples</title>"), 3U)
      << "the bar and both marks";
  EXPECT_EQ(count(svg, ">neither a sample nor a prediction</text>"), 1U);
  EXPECT_EQ(count(svg, ">mean</text>"), 1U);
}

TEST(ClassBars, FitTheWidthOfAColumn) {
  const Drawing drawing = class_bars(
      "", {{.name = std::string(80, 'W'), .samples = 12345, .precision = 1, .recall = 1, .f1 = 1}}, kMean, 500);
  EXPECT_EQ(drawing.width(), 500);
  for (const Item& item : drawing.items()) {
    if (const auto* const box = std::get_if<Box>(&item.what)) {
      EXPECT_LT(box->at.x + box->width, 500);
    }
    if (const auto* const words = std::get_if<TextItem>(&item.what)) {
      const double width = text_width(words->text, words->size, words->bold);
      const double begin = words->anchor == Anchor::kStart ? words->at.x
                           : words->anchor == Anchor::kEnd ? words->at.x - width
                                                           : words->at.x - width / 2;
      EXPECT_GE(begin, 0) << words->text;
      EXPECT_LE(begin + width, 500) << words->text;
    }
  }
}

TEST(ClassBars, ShowsTheWeakestOfManyClassesFirst) {
  std::vector<ClassBar> classes;
  for (int i = 0; i < 100; ++i)
    classes.push_back({.name = "class" + std::to_string(i), .samples = 1, .f1 = 1 - i / 100.0});
  const std::string svg = to_svg(class_bars("t", classes, kMean));
  EXPECT_NE(svg.find("the 40 of 100 classes with the smallest F1"), std::string::npos);
  EXPECT_EQ(count(svg, ">class59</text>"), 0U);
  EXPECT_EQ(count(svg, ">class60</text>"), 1U);
  EXPECT_LT(svg.find(">class99</text>"), svg.find(">class60</text>"));
}

}  // namespace
}  // namespace dptrain::plot
