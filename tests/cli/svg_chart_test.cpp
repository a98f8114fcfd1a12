#include "cli/svg_chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "core/error.h"

namespace dptrain::cli {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

TEST(Ticks, AreRoundAndInside) {
  EXPECT_EQ(ticks(0, 10, 5, false), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(1, 3, 10, true), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(ticks(7, 7, 5, false), std::vector<double>{7});
  for (const double scale : {1e-7, 1e-3, 1.0, 1e5, 1e9}) {
    const std::vector<double> t = ticks(0.13 * scale, 0.97 * scale, 5, false);
    ASSERT_GE(t.size(), 3U) << scale;
    ASSERT_LE(t.size(), 11U) << scale;
    EXPECT_GE(t.front(), 0.13 * scale * (1 - 1e-9));
    EXPECT_LE(t.back(), 0.97 * scale * (1 + 1e-9));
  }
}

TEST(SvgChart, DrawsEveryPointInsideThePicture) {
  Panel panel{"loss", "epoch", "", {}, false, true};
  panel.series.push_back({"training", {1, 2, 3, 4, 5}, {2.5, 1.0, 0.6, 0.4, 0.3}, 0, false});
  panel.series.push_back({"validation", {1, 2, 3, 4, 5}, {2.2, 1.1, 0.7, 0.6, 0.65}, 0, true});
  const std::string svg = svg_chart("fashion-mnist/001", {panel});
  EXPECT_EQ(svg.rfind("<svg ", 0), 0U);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  EXPECT_EQ(count(svg, "<polyline"), 2U);
  EXPECT_EQ(count(svg, "<circle"), 10U);
  EXPECT_EQ(count(svg, ">training<"), 1U);

  const std::regex point("([-0-9.]+),([-0-9.]+)");
  std::smatch size;
  ASSERT_TRUE(std::regex_search(svg, size, std::regex("width=\"([0-9]+)\" height=\"([0-9]+)\"")));
  const double width = std::stod(size[1]), height = std::stod(size[2]);
  const std::regex line("<polyline points=\"([^\"]*)\"");
  for (auto l = std::sregex_iterator(svg.begin(), svg.end(), line); l != std::sregex_iterator(); ++l) {
    const std::string points = (*l)[1];
    for (auto p = std::sregex_iterator(points.begin(), points.end(), point); p != std::sregex_iterator(); ++p) {
      EXPECT_GT(std::stod((*p)[1]), 0.0);
      EXPECT_LT(std::stod((*p)[1]), width);
      EXPECT_GT(std::stod((*p)[2]), 0.0);
      EXPECT_LT(std::stod((*p)[2]), height);
    }
  }
}

TEST(SvgChart, HigherValuesStandHigher) {
  Panel panel{"p", "x", "", {{"s", {0, 1}, {0, 5}, 0, false}}, false, false};
  std::smatch found;
  const std::string svg = svg_chart("t", {panel});
  ASSERT_TRUE(
      std::regex_search(svg, found, std::regex("<polyline points=\"([0-9.]+),([0-9.]+) ([0-9.]+),([0-9.]+)\"")));
  EXPECT_LT(std::stod(found[1]), std::stod(found[3]));
  EXPECT_GT(std::stod(found[2]), std::stod(found[4]));  // SVG counts downwards
}

TEST(SvgChart, AMissingPointInterruptsTheLine) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Panel panel{"p", "x", "", {{"s", {1, 2, 3, 4, 5}, {1, 2, nan, 2, 1}, 0, false}}, false, true};
  const std::string svg = svg_chart("t", {panel});
  EXPECT_EQ(count(svg, "<polyline"), 2U);
  EXPECT_EQ(count(svg, "<circle"), 4U);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(SvgChart, IsNotWrittenUnderAnotherKindsName) {
  for (const char* good : {"curves.svg", "CURVES.SVG", "curves", "a.b/curves", "/dev/stdout"})
    EXPECT_NO_THROW(require_svg(good, "--output")) << good;
  try {
    require_svg("out/curves.png", "--output");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_EQ(std::string(error.what())
                  .rfind("--output out/curves.png: pictures are written as SVG, found the suffix '.png'; "
                         "give out/curves.svg",
                         0),
              0U)
        << error.what();
  }
  EXPECT_THROW(require_svg("rate.pdf", "--lr"), Error);
}

TEST(SvgChart, SurvivesHardData) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<Panel> panels{
      {"one point", "x", "", {{"s", {1}, {3}, 0, false}}, true, true},
      {"constant", "x", "", {{"s", {1, 2}, {0, 0}, 0, false}}, false, true},
      {"infinite", "x", "", {{"s", {1, 2}, {inf, 1}, 0, false}}, false, true},
      {"nothing", "x", "", {{"s", {1}, {inf}, 0, false}}, false, true},
      {"tiny", "x", "", {{"s", {1, 2}, {1e-30, 2e-30}, 0, false}}, false, false},
      {"huge", "x", "", {{"s", {1e9, 2e9}, {1e30, 2e30}, 99, false}}, false, false},
  };
  const std::string svg = svg_chart("a <b> & \"c\"", panels);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf,"), std::string::npos);
  EXPECT_NE(svg.find("a &lt;b&gt; &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(svg.find(">nothing<"), std::string::npos);
  EXPECT_NE(svg.find(">one point<"), std::string::npos);
}

}  // namespace
}  // namespace dptrain::cli
