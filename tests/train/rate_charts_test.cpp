#include "train/rate_charts.h"

#include <gtest/gtest.h>

#include "plot/svg.h"

namespace dptrain::train {
namespace {

TEST(RateChart, HasStepsBelowAndEpochsAbove) {
  const plot::Chart chart = rate_chart("net", {{0, 1e-3}, {4689, 1e-5}}, 4690, 469);
  ASSERT_EQ(chart.panels.size(), 1U);
  EXPECT_EQ(chart.panels[0].x_label, "step");
  EXPECT_EQ(chart.panels[0].top_unit, 469);
  EXPECT_EQ(chart.panels[0].note, "4,690 steps, 469 per epoch");
  const std::string svg = plot::to_svg(plot::draw(chart));
  EXPECT_NE(svg.find(">epochs done</text>"), std::string::npos);
  EXPECT_NE(svg.find(">4000</text>"), std::string::npos);
  EXPECT_NE(svg.find(">8</text>"), std::string::npos);
}

TEST(RateChart, ShowsSmallRates) {
  std::vector<plot::Point> falling;
  for (int i = 0; i < 100; ++i) falling.push_back({static_cast<double>(i), i < 50 ? 0.1 : 1e-4});
  EXPECT_NE(plot::to_svg(plot::draw(rate_chart("net", falling, 100, 10))).find("log scale"), std::string::npos);
}

TEST(RateChart, AcceptsOneStep) { EXPECT_NO_THROW(plot::draw(rate_chart("net", {{0, 1e-3}}, 1, 1))); }

}  // namespace
}  // namespace dptrain::train
