#include "plot/class_results.h"

#include <gtest/gtest.h>

#include "plot/svg.h"
#include "plot/svg_text.h"

namespace dptrain::plot {
namespace {

std::string svg_of(const ConfusionCounts& counts) { return to_svg(confusion_matrix(counts)); }

TEST(ConfusionMatrix, ShowsNamesCountsAndShares) {
  const std::string svg = svg_of({.title = "net on test", .names = {"Gänseblümchen", "学"}, .counts = {90, 10, 0, 50}});
  EXPECT_EQ(count(svg, ">net on test</text>"), 1U);
  EXPECT_EQ(count(svg, ">140 of 150 right, 93 %</text>"), 1U);
  EXPECT_EQ(count(svg, ">Gänseblümchen</text>"), 2U) << "its row and its column";
  EXPECT_EQ(count(svg, ">学</text>"), 2U);
  EXPECT_GE(count(svg, "<title>label Gänseblümchen, predicted 学: 10 of 100, 10 %</title>"), 1U);
  EXPECT_EQ(count(svg, ">90</text>"), 1U);
  EXPECT_EQ(count(svg, ">0</text>"), 0U) << "an empty cell";
  EXPECT_EQ(count(svg, "class=\"f-wrong\""), 1U + 4U) << "one mistake, and the scale";
  EXPECT_EQ(count(svg, "class=\"f-right\""), 2U + 4U);
}

TEST(ConfusionMatrix, WordsOnStrongCellsAreLight) {
  const std::string svg = svg_of({.title = "t", .names = {"a", "b"}, .counts = {99, 1, 50, 50}});
  EXPECT_NE(svg.find("class=\"f-oncolor\" font-size=\"13\" text-anchor=\"middle\" font-weight=\"bold\""),
            std::string::npos);
  EXPECT_EQ(count(svg, "class=\"f-text\" font-size=\"10\" text-anchor=\"middle\""), 1U) << "the share of the weak one";
}

TEST(ConfusionMatrix, ShowsTheWorstOfManyClasses) {
  const std::size_t n = 100;
  ConfusionCounts counts{.title = "t", .names = {}, .counts = std::vector<std::int64_t>(n * n, 0)};
  for (std::size_t c = 0; c < n; ++c) {
    counts.names.push_back("class" + std::to_string(c));
    counts.counts[c * n + c] = 10;
  }
  counts.counts[97 * n + 99] = 5;
  const std::string svg = svg_of(counts);
  EXPECT_NE(svg.find("here the 40 of 100 classes with most mistakes"), std::string::npos);
  EXPECT_EQ(count(svg, ">class97</text>"), 2U);
  EXPECT_EQ(count(svg, ">class99</text>"), 2U);
  EXPECT_EQ(count(svg, ">class98</text>"), 0U);
}

TEST(ConfusionMatrix, LongNamesAreWholeInTitlesAndStayInThePicture) {
  const std::string name(200, 'w');
  const Drawing drawing =
      confusion_matrix({.title = name, .names = {name, "b", "c"}, .counts = {1, 0, 0, 0, 123456789, 0, 0, 0, 0}});
  const std::string svg = to_svg(drawing);
  EXPECT_EQ(count(svg, "<title>" + name + "</title>"), 3U);
  for (const Item& item : drawing.items()) {
    if (const auto* const words = std::get_if<TextItem>(&item.what)) {
      EXPECT_GE(words->at.x, 0);
      EXPECT_LT(words->at.x, drawing.width());
      EXPECT_LT(words->at.y, drawing.height());
    }
    if (const auto* const box = std::get_if<Box>(&item.what)) {
      EXPECT_LT(box->at.x + box->width, drawing.width());
    }
  }
}

TEST(ConfusionMatrix, AcceptsADataSetWithoutSamples) {
  EXPECT_NE(svg_of({.title = "t", .names = {"a"}, .counts = {0}}).find("0 of 0 right"), std::string::npos);
}

}  // namespace
}  // namespace dptrain::plot
