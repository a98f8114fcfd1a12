#include "plot/regression.h"

#include <gtest/gtest.h>

#include <limits>

#include "plot/svg.h"
#include "plot/svg_text.h"

namespace dptrain::plot {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(Regression, EqualValuesAreOnTheDashedLine) {
  const Panel panel = predicted_panel({.name = "price", .labels = {1, 2, 4}, .answers = {1, 3, 4}});
  EXPECT_EQ(panel.title, "price: predicted over true");
  ASSERT_EQ(panel.lines.size(), 2U);
  EXPECT_EQ(panel.lines[0].points.front().x, panel.lines[0].points.front().y);
  EXPECT_EQ(panel.lines[0].points.back().x, 4);
  ASSERT_EQ(panel.lines[1].points.size(), 3U);
  EXPECT_EQ(panel.lines[1].points[1].x, 2);
  EXPECT_EQ(panel.lines[1].points[1].y, 3);
  EXPECT_FALSE(panel.lines[1].joined);
}

TEST(Regression, ResidualsAreAnswerMinusLabel) {
  const Panel panel = residuals_panel({.labels = {1, 2, 4}, .answers = {1, 3, 3.5}});
  EXPECT_EQ(panel.title, "residuals");
  ASSERT_EQ(panel.lines.size(), 2U);
  EXPECT_EQ(panel.lines[1].points[1].x, 3);
  EXPECT_EQ(panel.lines[1].points[1].y, 1);
  EXPECT_EQ(panel.lines[1].points[2].y, -0.5);
}

TEST(Regression, OmitsNonFinitePairs) {
  const ValuePairs pairs{.labels = {1, kNone, 3, 5}, .answers = {1, 2, kNone, 6}};
  EXPECT_EQ(predicted_panel(pairs).lines[1].points.size(), 2U);
  const std::string svg = to_svg(draw({.title = "t", .panels = {predicted_panel(pairs), residuals_panel(pairs)}}));
  EXPECT_EQ(count(svg, "<circle"), 4U);
  EXPECT_EQ(count(svg, "nan"), 0U);
  EXPECT_EQ(count(to_svg(draw({.title = "t", .panels = {predicted_panel({.labels = {kNone}, .answers = {1}})}})),
                  ">no finite value</text>"),
            1U);
}

TEST(Regression, TwoLabelsAreClassesNotAScale) {
  EXPECT_FALSE(is_drawable({.labels = {0, 1, 0, 1}, .answers = {0.2, 0.8, 0.1, 0.9}}));
  EXPECT_FALSE(is_drawable({.labels = {0, 1, 2}, .answers = {0, 1, kNone}}));
  EXPECT_TRUE(is_drawable({.labels = {0, 1, 2}, .answers = {0, 1, 1}}));
  EXPECT_FALSE(is_drawable({}));
}

}  // namespace
}  // namespace dptrain::plot
