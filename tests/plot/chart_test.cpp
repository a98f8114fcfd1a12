#include "plot/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plot/svg.h"
#include "plot/svg_text.h"
#include "plot/text_width.h"

namespace dptrain::plot {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

std::string svg_of(const Chart& chart) { return to_svg(draw(chart)); }

Panel panel_of(std::vector<Point> points, const std::string& title = "p") {
  return {.title = title, .x_label = "epoch", .lines = {{.name = "run", .points = std::move(points)}}};
}

TEST(Chart, DrawsEveryPointInsideThePicture) {
  Panel panel = panel_of({{1, 2.5}, {2, 1.0}, {3, 0.6}, {4, 0.4}, {5, 0.3}});
  panel.lines.push_back({.name = "v", .points = {{1, 9}, {5, -9}}, .dash = Dash::kDashed});
  const Drawing drawing = draw({.title = "fashion-mnist/001", .panels = {panel}});
  const std::string svg = to_svg(drawing);
  const auto lines = polylines(svg, "s-line0");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].size(), 10U);
  EXPECT_EQ(count(svg, "<circle"), 7U);
  EXPECT_EQ(count(svg, "stroke-dasharray"), 1U);
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) {
      EXPECT_GT(line[i], 0.0);
      EXPECT_LT(line[i], i % 2 == 0 ? drawing.width() : drawing.height());
    }
}

TEST(Chart, DrawsHigherValuesHigher) {
  const auto lines = polylines(svg_of({.title = "t", .panels = {panel_of({{0, 0}, {1, 5}})}}), "s-line0");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_LT(lines[0][0], lines[0][2]);
  EXPECT_GT(lines[0][1], lines[0][3]);  // SVG's y grows downwards
}

TEST(Chart, AValueThatIsNotFiniteIsAGapWithACross) {
  const std::string svg =
      svg_of({.title = "t", .panels = {panel_of({{1, 1}, {2, 2}, {3, kNan}, {4, kInf}, {5, 2}, {6, 1}})}});
  EXPECT_EQ(polylines(svg, "s-line0").size(), 2U);
  EXPECT_EQ(count(svg, "<circle"), 4U);
  EXPECT_EQ(count(svg, "<path"), 2U) << "crosses";
  EXPECT_NE(svg.find("<title>run: nan at epoch 3</title>"), std::string::npos);
  EXPECT_EQ(count(svg, "\"nan"), 0U);
  EXPECT_EQ(count(svg, "inf,"), 0U);
}

TEST(Chart, DrawsAPointBetweenGaps) {
  Panel panel = panel_of({{1, kNan}, {2, 2}, {3, kNan}});
  panel.lines[0].marks = false;
  EXPECT_EQ(count(svg_of({.title = "t", .panels = {panel}}), "<circle"), 1U);
}

TEST(Chart, APanelWithoutValuesHasANote) {
  const std::string svg =
      svg_of({.title = "t", .panels = {panel_of({{1, kNan}, {2, kNan}}, "loss"), panel_of({}, "other")}});
  EXPECT_NE(svg.find(">loss</text>"), std::string::npos);
  EXPECT_EQ(count(svg, ">no finite value</text>"), 2U);
  EXPECT_EQ(count(svg, ">0.5</text>"), 0U) << "no axis of values that are not there";
}

TEST(Chart, ALogarithmicPanelHasANoteAndOmitsZeros) {
  Panel panel = panel_of({{1, 1000}, {2, 100}, {3, 10}, {4, 0}});
  panel.scale = Scale::kLog;
  const std::string svg = svg_of({.title = "t", .panels = {panel}});
  EXPECT_NE(svg.find(">log scale, without zeros</text>"), std::string::npos);
  const auto lines = polylines(svg, "s-line0");
  ASSERT_EQ(lines.size(), 1U);
  ASSERT_EQ(lines[0].size(), 6U);
  EXPECT_NEAR(lines[0][3] - lines[0][1], lines[0][5] - lines[0][3], 0.2) << "equal ratios, equal steps";
  panel.scale = Scale::kAuto;
  panel.lines[0].points = {{1, 3}, {2, 2}, {3, 1}};
  EXPECT_EQ(count(svg_of({.title = "t", .panels = {panel}}), "log scale"), 0U);
}

TEST(Chart, TheLegendContainsAllNames) {
  Chart chart{.title = "t", .panels = {panel_of({{1, 1}, {2, 2}})}};
  const std::string long_name = "a name " + std::string(300, 'x') + " that is much too long";
  for (int i = 0; i < 30; ++i)
    chart.legend.push_back({.name = i == 7 ? long_name : "run-" + std::to_string(100 + i),
                            .note = "val_loss 0.1234, epoch 12",
                            .style = line_style(static_cast<std::size_t>(i))});
  const Drawing drawing = draw(chart);
  const std::string svg = to_svg(drawing);
  for (int i = 0; i < 30; ++i)
    if (i != 7) {
      EXPECT_EQ(count(svg, ">run-" + std::to_string(100 + i) + "</text>"), 1U) << i;
    }
  EXPECT_EQ(count(svg, "<title>" + long_name + "</title>"), 1U);
  EXPECT_EQ(count(svg, "</title>a name"), 1U);
  EXPECT_EQ(count(svg, ">val_loss 0.1234, epoch 12</text>"), 30U);
  for (const Item& item : drawing.items())
    if (const auto* const words = std::get_if<TextItem>(&item.what)) {
      EXPECT_LT(words->at.y, drawing.height()) << words->text;
      EXPECT_LT(words->at.x, drawing.width()) << words->text;
    }
}

TEST(Chart, TheBestPointHasARing) {
  Panel panel = panel_of({{1, 3}, {2, 1}, {3, 2}});
  panel.lines[0].best = 1;
  panel.lines[0].best_text = "best 1, epoch 2";
  const std::string svg = svg_of({.title = "t", .panels = {panel}});
  EXPECT_EQ(count(svg, "class=\"hollow s-line0\""), 2U) << "on the line, and before the words";
  EXPECT_NE(svg.find("<title>run: best, 1 at epoch 2</title>"), std::string::npos);
  EXPECT_NE(svg.find(">best 1, epoch 2</text>"), std::string::npos);
}

TEST(Chart, ASecondAxisIsAbove) {
  Panel panel = panel_of({{0, 1}, {1000, 2}});
  panel.top_unit = 100;
  panel.top_label = "epochs done";
  const std::string svg = svg_of({.title = "t", .panels = {panel}});
  EXPECT_EQ(count(svg, ">epochs done</text>"), 1U);
  EXPECT_EQ(count(svg, ">1000</text>"), 1U);
  EXPECT_GE(count(svg, ">10</text>"), 1U);
}

TEST(Chart, HalvesAreNextToEachOther) {
  Panel half = panel_of({{1, 1}, {2, 2}});
  half.half = true;
  const double one = draw({.title = "t", .panels = {half}}).height();
  EXPECT_EQ(draw({.title = "t", .panels = {half, half}}).height(), one);
  EXPECT_GT(draw({.title = "t", .panels = {half, half, half}}).height(), one);
  const auto lines = polylines(svg_of({.title = "t", .panels = {half, half, half}}), "s-line0");
  ASSERT_EQ(lines.size(), 3U);
  const auto width = [&](std::size_t i) { return lines[i][2] - lines[i][0]; };
  EXPECT_NEAR(width(0), width(1), 0.2);
  EXPECT_GT(width(2), 2 * width(0)) << "the last of an odd number has the whole row";
}

TEST(Chart, PanelsOfAPageAreDrawingsOfOneSize) {
  Panel low = panel_of({{1, 1}, {2, 2}}, "low"), high = panel_of({{1, 1}, {2, 2}}, "high");
  low.height = 165;
  const std::vector<Drawing> all = draw_panels({.title = "t", .panels = {low, high}}, 500);
  ASSERT_EQ(all.size(), 2U);
  for (const Drawing& drawing : all) {
    EXPECT_EQ(drawing.width(), 500);
    EXPECT_EQ(drawing.height(), high.height);
  }
  EXPECT_EQ(count(to_svg(all[1]), ">high</text>"), 1U);
}

TEST(Chart, TheFirstEpochHasADistanceFromTheAxis) {
  Panel panel = panel_of({{1, 1}, {11, 2}});
  panel.whole_x = true;
  const double padded = polylines(svg_of({.title = "t", .panels = {panel}}), "s-line0")[0][0];
  panel.whole_x = false;
  EXPECT_GT(padded, polylines(svg_of({.title = "t", .panels = {panel}}), "s-line0")[0][0] + 10);
}

TEST(Chart, AnAxisCanBeWiderThanItsPoints) {
  Panel panel = panel_of({{40, 1}, {60, 2}});
  panel.x_limits = {.low = 0, .high = 100};
  panel.x_ticks = {0, 50, 100};
  const std::string svg = svg_of({.title = "t", .panels = {panel}});
  for (const char* tick : {">0</text>", ">50</text>", ">100</text>"}) EXPECT_EQ(count(svg, tick), 1U) << tick;
  const auto axis = polylines(svg, "s-axis").back(), line = polylines(svg, "s-line0").front();
  EXPECT_NEAR((line[2] - line[0]) / (axis[2] - axis[0]), 0.2, 0.01);
}

TEST(Chart, TheTitleEndsBeforeTheBestValue) {
  Panel panel = panel_of({{1, 3}, {2, 1}}, "a metric with a name that is much longer than half of a row");
  panel.lines[0].best = 1;
  panel.lines[0].best_text = "best 0.0666, epoch 4";
  const Drawing drawing = draw_panels({.title = "t", .panels = {panel}}, 320).front();
  double title_end = 0, ring = 0;
  for (const Item& item : drawing.items()) {
    const auto* const words = std::get_if<TextItem>(&item.what);
    if (words != nullptr && words->bold) title_end = words->at.x + text_width(words->text, words->size, true);
    const auto* const mark = std::get_if<MarkItem>(&item.what);
    if (mark != nullptr && mark->at.y < 30) ring = std::max(ring, mark->at.x);
  }
  EXPECT_LT(title_end, ring - 5);
  EXPECT_NEAR(ring, 310 - text_width("best 0.0666, epoch 4", 12) - 14, 1) << "next to its words";
}

TEST(Chart, AScatterPlotHasAMarkPerPointAndNoLine) {
  Panel panel = panel_of({{3, 1}, {1, 2}, {2, kNan}, {1, 4}});
  panel.lines[0].joined = false;
  const std::string svg = svg_of({.title = "t", .panels = {panel}});
  EXPECT_EQ(count(svg, "<circle"), 3U);
  EXPECT_TRUE(polylines(svg, "s-line0").empty());
}

TEST(Chart, ThousandsOfPointsAreThinnedAndKeepTheirExtremes) {
  Panel panel = panel_of({});
  for (int i = 0; i < 100'000; ++i)
    panel.lines[0].points.push_back({static_cast<double>(i), i == 77'777 ? 50.0 : 1.0 + i % 2});
  panel.lines[0].points[500].y = kNan;
  const std::string svg = svg_of({.title = "t", .panels = {panel}});
  EXPECT_LT(svg.size(), 60'000U);
  double least = 1e9, most = 0;
  const auto lines = polylines(svg, "s-line0");
  ASSERT_EQ(lines.size(), 2U) << "the gap stays";
  for (const auto& line : lines)
    for (std::size_t i = 1; i < line.size(); i += 2) least = std::min(least, line[i]), most = std::max(most, line[i]);
  EXPECT_GT(most - least, 100) << "the peak stays";
}

TEST(Chart, AcceptsExtremeData) {
  Panel whole = panel_of({{1, 3}}, "one point");
  whole.from_zero = whole.whole_x = true;
  Panel log = panel_of({{1, -1}, {2, kInf}}, "nothing for a log");
  log.scale = Scale::kLog;
  Panel swept = panel_of({{1, 1}, {64, 2}}, "swept");
  swept.log_x = true;
  swept.x_ticks = {1, 64};
  const std::string svg =
      svg_of({.title = "a <b> & \"c\"",
              .panels = {whole, log, swept, panel_of({{1, 0}, {2, 0}}, "constant"),
                         panel_of({{1, kInf}, {2, 1}}, "infinite"), panel_of({{1, 1e-30}, {2, 2e-30}}, "tiny"),
                         panel_of({{1e9, 1e30}, {2e9, 2e30}}, "huge"), panel_of({{1, -1e300}, {2, 1e300}}, "widest")}});
  EXPECT_EQ(count(svg, "nan,"), 0U);
  EXPECT_EQ(count(svg, ",nan"), 0U);
  EXPECT_EQ(count(svg, "inf,"), 0U);
  EXPECT_NE(svg.find("a &lt;b&gt; &amp; &quot;c&quot;"), std::string::npos);
  for (const char* title : {"one point", "constant", "infinite", "tiny", "huge", "swept"})
    EXPECT_EQ(count(svg, std::string(">") + title + "</text>"), 1U);
}

TEST(Chart, NamesReplaceNumbers) {
  Panel panel = panel_of({{0, 1}, {1, 2}}, "named");
  panel.x_names = {"adam", "sgd",
                   "a name that has no room beside so many others, or beside itself alone for that matter "
                   "because nobody has a page that is as wide as this"};
  const std::string svg = svg_of({.title = "t", .panels = {panel}});
  EXPECT_EQ(count(svg, ">adam</text>"), 1U);
  EXPECT_EQ(count(svg, ">sgd</text>"), 1U);
  EXPECT_EQ(count(svg, "…"), 1U);
}

TEST(Chart, ALogarithmicAxisOfXHasPowersOfTen) {
  Panel panel = panel_of({{1e-5, 1}, {1e-1, 2}}, "rates");
  panel.log_x = true;
  const std::string svg = svg_of({.title = "t", .panels = {panel}});
  for (const char* tick : {">1e-5</text>", ">1e-4</text>", ">0.001</text>", ">0.01</text>"})
    EXPECT_EQ(count(svg, tick), 1U) << tick;
}

}  // namespace
}  // namespace dptrain::plot
